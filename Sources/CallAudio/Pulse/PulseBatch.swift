internal import RunLoop

/// Commands that are sent together. Done when the server has acknowledged the last one and the image shows the
/// results.
final class PulseBatch {
    private let runLoop: RunLoop
    private let timeout: Duration
    private let commands: [AudioServerCommand]
    private let completion: ([AudioServerFailure?]) -> Void
    private var failures: [AudioServerFailure?]
    private var openAnswers: Int
    private var isRefreshed = false
    private var expectations: [PulseExpectation] = []
    /// Met expectations whose target may pass through an intermediate state once more.
    private var met: [PulseExpectation] = []
    private var timer: Timer?

    /// The subjects of its open expectations.
    var subjects: Set<PulseExpectation.Subject> { Set(expectations.map(\.subject)) }
    private(set) var isDone = false

    /// - Parameter timeout: For the image to show what was acknowledged.
    init(
        _ commands: [AudioServerCommand], runLoop: RunLoop, timeout: Duration,
        completion: @escaping ([AudioServerFailure?]) -> Void
    ) {
        self.runLoop = runLoop
        self.timeout = timeout
        self.commands = commands
        self.completion = completion
        failures = Array(repeating: nil, count: commands.count)
        openAnswers = commands.count
    }

    deinit { if let timer { runLoop.cancel(timer) } }

    /// Sends the commands, and after them the queries that show the results.
    func send(
        image: AudioServerImage, connection: PulseConnection, mirror: PulseMirror,
        onProgress: @escaping (PulseBatch) -> Void
    ) {
        var touched: [PulseObject] = []
        for (number, command) in commands.enumerated() {
            let expected = PulseExpectation.all(of: command, number: number, before: image)
            forget(Set(expected.map(\.subject)))
            expectations += expected
            for object in command.touched(image) where !touched.contains(object) { touched.append(object) }
            connection.perform(command, image: image) { failure in
                self.failures[number] = failure
                self.openAnswers -= 1
                if failure != nil { self.expectations.removeAll { $0.command == number } }
                onProgress(self)
            }
        }
        mirror.refresh(touched) {
            self.isRefreshed = true
            onProgress(self)
        }
    }

    /// Drops the expectations that a later command replaces.
    func forget(_ subjects: Set<PulseExpectation.Subject>) {
        expectations.removeAll { subjects.contains($0.subject) }
        met.removeAll { subjects.contains($0.subject) }
    }

    /// Whether everything is answered, and shown by the image.
    func isComplete(_ image: AudioServerImage) -> Bool {
        guard openAnswers == 0, isRefreshed else { return false }
        met += expectations.filter { $0.isMet(image) }
        expectations.removeAll { $0.isMet(image) }
        return expectations.isEmpty && !met.contains { $0.isPassing(image) }
    }

    /// Whether everything is answered, so that only the image is missing.
    var isAnswered: Bool { openAnswers == 0 && isRefreshed }

    /// Starts the timeout for the image.
    func limit(_ body: @escaping (PulseBatch) -> Void) {
        guard timer == nil else { return }
        let deadline = runLoop.now.advanced(by: timeout)
        timer = runLoop.schedule(at: deadline, tolerance: .milliseconds(10)) { [weak self] in
            guard let self else { return }
            for expectation in expectations where expectation.isRequired {
                failures[expectation.command] = AudioServerFailure(
                    .refused, "\(commands[expectation.command].text): the audio server said yes and did not do it")
            }
            body(self)
        }
    }

    /// - Parameter loss: The connection broke: the result of every command is unknown.
    func finish(loss: AudioServerFailure? = nil) {
        guard !isDone else { return }
        isDone = true
        if let timer { runLoop.cancel(timer) }
        timer = nil
        completion(loss.map { loss in failures.map { $0 ?? loss } } ?? failures)
    }
}

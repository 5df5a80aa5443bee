internal import DeviceLink
internal import HTTPServer
internal import RingwakeCore
internal import RunLoop

/// Helps the gateway to find out how long the device's network keeps an idle connection: now and then a second connection
/// on which nothing is said, until the gateway ends it or the network has forgotten it.
///
/// It costs a wakeup when it starts, which it shares with whatever wakes the process in the meantime, and one when it ends.
final class LinkProbe {
    /// How the connection is made.
    struct Way {
        /// Starts to connect; nothing comes after the connector was cancelled.
        let connect: (@escaping LinkConnector.Completion) -> LinkConnector
        /// Makes the connection over TLS, and introduces the device.
        let begin: (LinkConnector.Made) throws(RingwakeError) -> LinkClientConnection
    }

    /// Called when the gateway has said what follows.
    var onTiming: (LinkTiming) -> Void = { _ in }
    /// The idle time that is being tried, in seconds; nil while nothing is.
    private(set) var tried: UInt16?

    /// A probe is not tried again sooner, whatever the gateway says.
    private static let leastWait = Duration.seconds(30)

    private let runLoop: RunLoop
    private let way: Way
    private var wait: Duration?
    private var timer: Timer?
    private var connector: LinkConnector?
    private var connection: LinkClientConnection?

    init(runLoop: RunLoop, way: Way) {
        self.runLoop = runLoop
        self.way = way
    }

    /// Starts a probe later.
    ///
    /// - Parameter seconds: as the gateway says; nil: never.
    func schedule(after seconds: UInt32?) {
        cancelTimer()
        wait = seconds.map { max(.seconds(Int64($0)), Self.leastWait) }
        guard let wait else { return }
        // It is worth no wakeup of its own as long as another one may come, and none of a machine that sleeps.
        timer = runLoop.schedule(at: runLoop.now.advanced(by: wait), tolerance: wait, wakingFromSuspend: false) {
            [weak self] in
            self?.timer = nil
            self?.start()
        }
    }

    /// Ends a probe whose result would say nothing, and tries another one later.
    func abandon() {
        guard connector != nil || connection != nil else { return }
        end()
        scheduleAgain()
    }

    /// Ends all.
    func cancel() {
        cancelTimer()
        end()
    }

    private func cancelTimer() {
        if let timer { runLoop.cancel(timer) }
        timer = nil
    }

    private func end() {
        tried = nil
        connector?.cancel()
        connector = nil
        connection?.onOutput = { _ in }
        // In order, so that the gateway blames no network for it.
        connection?.leave()
        connection = nil
    }

    private func scheduleAgain() { schedule(after: wait.map { UInt32(clamping: $0.components.seconds) }) }

    private func start() {
        end()
        connector = way.connect { [weak self] result in
            guard let self else { return }
            connector = nil
            do throws(RingwakeError) {
                let connection = try way.begin(try result.get())
                self.connection = connection
                connection.onOutput = { [weak self] in self?.handle($0) }
            } catch {
                scheduleAgain()
            }
        }
        connector?.start()
    }

    private func handle(_ output: DeviceSession.Output) {
        switch output {
        case .welcomed(let welcome): tried = welcome.timing.keepAlive
        case .end(let end):
            (connection, tried) = (nil, nil)
            guard let timing = end.timing else { return scheduleAgain() }
            schedule(after: timing.probeAfter)
            onTiming(timing)
        default: break
        }
    }
}

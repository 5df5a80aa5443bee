internal import CRingwakePulse
internal import RingwakeCore
internal import RunLoop

/// Mirrors a server: reads everything once, then the objects that the server reports as changed.
///
/// Queries are sent in rounds. Changes during a round wait for the next one, so that an object that changes all the
/// time is read once a round. A round that no command waits for begins at least ``shortestInterval`` after the last.
/// Requested objects (``refresh(_:completion:)``) are read at once, and rounds wait for them: they answer most of what
/// the server reports meanwhile.
final class PulseMirror {
    /// At most a hundred times a second, whatever a server reports.
    private static let shortestInterval = Duration.milliseconds(10)
    /// Maximum objects of a kind to read one by one; for more, all are read.
    private static let singleQuestions = 8

    /// Called when the image is complete, or updated by a round.
    var onRound: (() -> Void)?
    /// Whether a command waits for the result of a round: then it isn't delayed.
    var isAwaited = false

    private(set) var image: AudioServerImage?
    /// What the server stores; nil: not read, or stored anew since then.
    private(set) var stored: [StoredStream]?
    private var isStoreWatched = false
    private let connection: PulseConnection
    private let runLoop: RunLoop
    private var draft = Draft()
    /// The objects that changed since they were last read.
    private var changed: [PulseObjectKind: Set<UInt32>] = [:]
    private var isRoundOpen = false
    private var openRefreshes = 0
    private var isRoundDue = false
    private var lastRound: BootClock.Instant?
    private var delay: Timer?

    init(connection: PulseConnection, runLoop: RunLoop) {
        self.connection = connection
        self.runLoop = runLoop
    }

    deinit { close() }

    func close() {
        onRound = nil
        if let delay { runLoop.cancel(delay) }
        delay = nil
    }

    // MARK: - Rounds

    /// Reads everything once. The subscription is sent first, so that no change is missed.
    func load(completion: @escaping (AudioServerFailure?) -> Void) {
        connection.onChange = { [weak self] kind, index, isRemoved in
            self?.happened(kind, index, isRemoved: isRemoved)
        }
        isRoundOpen = true
        let answers = PulseAnswers(1 + PulseObjectKind.allCases.count) { [weak self] failure in
            guard let self else { return }
            isRoundOpen = false
            if failure == nil { show() }
            completion(failure)
            if isRoundWanted { beginRoundSoon() }
        }
        connection.subscribe(completion: answers.note)
        for kind in PulseObjectKind.allCases { ask(kind, nil, answers.note) }
    }

    /// Reads these objects now, after all requests sent so far, whether or not the server reports a change.
    func refresh(_ objects: [PulseObject], completion: @escaping () -> Void) {
        guard !objects.isEmpty else { return completion() }
        // A new stream's client may be unknown yet, and with it the process.
        let hasNew = objects.contains { PulseObject.streams.contains($0) }
        var questions = hasNew ? [PulseObject(kind: .client, index: nil)] : []
        for object in objects {
            let isOneOfMany = objects.count { $0.kind == object.kind } > Self.singleQuestions
            let question = isOneOfMany ? PulseObject(kind: object.kind, index: nil) : object
            if !questions.contains(question) { questions.append(question) }
        }
        openRefreshes += 1
        let answers = PulseAnswers(questions.count) { [weak self] _ in
            guard let self else { return }
            openRefreshes -= 1
            show()
            completion()
            if isRoundWanted { beginRoundSoon() }
        }
        for question in questions { ask(question.kind, question.index, answers.note) }
    }

    /// Whether the image shows everything that the server has reported.
    var isCurrent: Bool {
        !isRoundOpen && openRefreshes == 0
            && changed.allSatisfy { $0 == .client ? $1.isDisjoint(with: draft.clients.awaited) : $1.isEmpty }
    }

    /// Reads what the server stores, after all requests sent so far; empty if it has no such store.
    func readStored(completion: @escaping (Result<[StoredStream], AudioServerFailure>) -> Void) {
        if connection.onStored == nil {
            connection.onStored = { [weak self] in self?.stored = nil }
            // Sent first, so that no change is missed.
            connection.subscribeToStored { [weak self] in self?.isStoreWatched = $0 == nil }
        }
        var found: [StoredStream] = []
        connection.storedStreams {
            if let entry = $0, found.count < PulseLimits.objects { found.append(entry) }
        } completion: { [weak self, unowned connection] failure in
            if let failure, !connection.isExtensionMissing { return completion(.failure(failure)) }
            // The server reports a change in the order of its answers.
            if let self, failure == nil, isStoreWatched { stored = found }
            completion(.success(found))
        }
    }

    private func happened(_ kind: PulseObjectKind, _ index: UInt32, isRemoved: Bool) {
        if isRemoved {
            // A round without a query publishes the removal.
            changed[kind, default: []].remove(index)
            draft.remove(kind, index)
        } else {
            changed[kind, default: []].insert(index)
        }
        // Clients come and go all the time. They are read along with the rest, and alone only where a stream needs its
        // client.
        if kind != .client || (!isRemoved && draft.clients.awaited.contains(index)) { beginRoundSoon() }
    }

    private var isRoundWanted: Bool {
        changed.contains { kind, indexes in kind != .client || !indexes.isDisjoint(with: draft.clients.awaited) }
    }

    /// Begins a round at the end of this turn, or when the interval is over.
    func beginRoundSoon() {
        guard !isRoundOpen, openRefreshes == 0, !isRoundDue || isAwaited else { return }
        if let delay { runLoop.cancel(delay) }
        delay = nil
        isRoundDue = true
        let earliest = lastRound.map { $0.advanced(by: Self.shortestInterval) }
        if !isAwaited, let earliest, runLoop.now < earliest {
            delay = runLoop.schedule(at: earliest, tolerance: .milliseconds(1)) { [weak self] in self?.beginRound() }
        } else {
            runLoop.enqueue { [weak self] in self?.beginRound() }
        }
    }

    private func beginRound() {
        isRoundDue = false
        delay = nil
        guard !isRoundOpen, openRefreshes == 0, !changed.isEmpty else { return }
        isRoundOpen = true
        lastRound = runLoop.now
        let wanted = changed
        changed = [:]
        var questions: [(PulseObjectKind, UInt32?)] = []
        for kind in PulseObjectKind.allCases {
            guard let indexes = wanted[kind], !indexes.isEmpty else { continue }
            let all = kind == .server || indexes.count > Self.singleQuestions
            questions += all ? [(kind, nil)] : indexes.map { (kind, $0) }
        }
        guard !questions.isEmpty else { return endRound() }
        let answers = PulseAnswers(questions.count) { [weak self] _ in self?.endRound() }
        for (kind, index) in questions { ask(kind, index, answers.note) }
    }

    private func endRound() {
        isRoundOpen = false
        show()
        onRound?()
        if isRoundWanted { beginRoundSoon() }
    }

    private func show() {
        draft.clients.note(draft.image)
        image = draft.clients.resolving(draft.image, ownIndex: connection.clientIndex)
    }

    // MARK: - Questions and answers

    private func ask(
        _ kind: PulseObjectKind, _ index: UInt32?, _ completion: @escaping (AudioServerFailure?) -> Void
    ) {
        switch kind {
        case .server:
            connection.objects(
                kind, index, item: { [weak self] in self?.take(PulseReading.info($0)) }, completion: completion)
        case .client: ask(kind, index, \.clients.known, completion) { PulseReading.client(PulseReading.info($0)) }
        case .card: ask(kind, index, \.image.cards, completion) { PulseReading.card(PulseReading.info($0)) }
        // Ports of a Bluetooth device depend on the profile of its card.
        case .sink:
            ask(kind, index, \.image.sinks, completion) { [weak self] in
                PulseReading.sink(PulseReading.info($0), cards: self?.draft.image.cards ?? [:])
            }
        case .source:
            ask(kind, index, \.image.sources, completion) { [weak self] in
                PulseReading.source(PulseReading.info($0), cards: self?.draft.image.cards ?? [:])
            }
        case .sinkInput:
            ask(kind, index, \.image.playing, completion) { [weak self] in
                PulseReading.sinkInput(PulseReading.info($0), isPipeWire: self?.draft.image.isPipeWire ?? false)
            }
        case .sourceOutput:
            ask(kind, index, \.image.recording, completion) { PulseReading.sourceOutput(PulseReading.info($0)) }
        }
    }

    /// Reads one object, or all of a kind, and stores the answer when it is complete.
    private func ask<Object: PulseIndexed>(
        _ kind: PulseObjectKind, _ index: UInt32?, _ list: WritableKeyPath<Draft, [UInt32: Object]>,
        _ completion: @escaping (AudioServerFailure?) -> Void, read: @escaping (UnsafeRawPointer) -> Object
    ) {
        var found: [UInt32: Object] = [:]
        connection.objects(kind, index) { info in
            guard found.count < PulseLimits.objects else { return }
            let object = read(info)
            found[object.index] = object
        } completion: { [weak self] failure in
            if let self {
                if failure == nil {
                    draft[keyPath: list].take(found, all: index == nil)
                    // The server reported these before it answered, so the answer contains them.
                    if let index { changed[kind]?.remove(index) } else { changed[kind]?.removeAll() }
                } else if let index, failure?.kind == .notFound {
                    draft.remove(kind, index)
                }
            }
            // A single object that is gone or refused isn't a failure of the mirror.
            completion(index == nil ? failure : nil)
        }
    }

    private func take(_ info: pa_server_info) {
        let name = PulseText.string(info.server_name) ?? ""
        let host = PulseText.name(info.host_name)
        let user = PulseText.name(info.user_name)
        draft.image.cookie = info.cookie
        draft.image.isPipeWire = name.contains("PipeWire")
        draft.image.server = AudioServerDescription(
            name: name, version: PulseText.string(info.server_version) ?? "",
            location: [user, host].compactMap(\.self).joined(separator: "@"))
        // PipeWire's placeholder names mean that there is none.
        draft.image.defaultSink = PulseText.name(info.default_sink_name).flatMap { $0.hasPrefix("@") ? nil : $0 }
        draft.image.defaultSource = PulseText.name(info.default_source_name).flatMap { $0.hasPrefix("@") ? nil : $0 }
    }
}

/// One object of a server; an index of nil means all of the kind.
struct PulseObject: Hashable {
    let kind: PulseObjectKind
    let index: UInt32?

    /// All streams.
    static let streams = [PulseObject(kind: .sinkInput, index: nil), PulseObject(kind: .sourceOutput, index: nil)]
}

/// Waits for a number of answers, and completes with the first failure.
final class PulseAnswers {
    private var missing: Int
    private var failure: AudioServerFailure?
    private let completion: (AudioServerFailure?) -> Void

    init(_ count: Int, completion: @escaping (AudioServerFailure?) -> Void) {
        missing = count
        self.completion = completion
    }

    func note(_ failure: AudioServerFailure?) {
        self.failure = self.failure ?? failure
        missing -= 1
        if missing == 0 { completion(self.failure) }
    }
}

/// The objects that have been read, before they are published.
private struct Draft {
    var image = AudioServerImage(
        cookie: 0, server: AudioServerDescription(name: "", version: "", location: ""), isPipeWire: false,
        defaultSink: nil, defaultSource: nil)
    var clients = PulseClients()

    mutating func remove(_ kind: PulseObjectKind, _ index: UInt32) {
        switch kind {
        case .server: break
        case .client: clients.remove(index)
        case .card: image.cards[index] = nil
        case .sink: image.sinks[index] = nil
        case .source: image.sources[index] = nil
        case .sinkInput: image.playing[index] = nil
        case .sourceOutput: image.recording[index] = nil
        }
    }
}

private protocol PulseIndexed { var index: UInt32 { get } }
extension PulseClients.Client: PulseIndexed {}
extension AudioServerImage.Card: PulseIndexed {}
extension AudioServerImage.Device: PulseIndexed {}
extension AudioServerImage.Stream: PulseIndexed {}

extension Dictionary where Key == UInt32 {
    /// - Parameter all: These are all that exist.
    fileprivate mutating func take(_ found: [UInt32: Value], all: Bool) {
        if all {
            self = found
            return
        }
        for (index, object) in found where self[index] != nil || count < PulseLimits.objects { self[index] = object }
    }
}

/// A client's session with the daemon: its stream, over restarts of either, and what it knows of the app's calls.
///
///     idle --start--> opening --hello--> open --streamEnded--> waiting --retryDue--> opening
///                       |  ^                                      ^
///                       |  +-- refused, without the secret        |
///                       +------------ streamEnded, refused -------+
///     any --close--> closed
///
/// | transition | function |
/// |---|---|
/// | idle -> opening | ``start()`` |
/// | opening -> open | ``take(_:)`` of the line `hello` |
/// | opening -> opening, waiting | ``refused(_:_:)`` |
/// | opening, open -> waiting | ``streamEnded(_:lasted:)`` |
/// | waiting -> opening | ``retryDue()`` |
/// | any -> closed | ``close()`` |
///
/// What holds: there is one stream in `opening` and `open`, and none else. A call is in ``calls`` from when it is first
/// heard of until its end is told, over any number of streams. What concerns one call is in the other files.
struct SessionStateMachine: Sendable {
    enum State: Equatable, Sendable {
        case idle
        /// With this secret.
        case opening(secret: String?)
        case open(secret: String?)
        case waiting
        case closed
    }

    /// What is to be done, in this order.
    enum Effect: Sendable {
        case openStream(since: Int64?, secret: String?)
        case closeStream
        case retry(after: Duration)
        case tellConnection(ConnectionState)
        /// Requests that wait for the daemon can be made.
        case resumeRequests
        case tellPush(IncomingPush)
        case tellAction(call: String, CallAction.Kind, number: UInt64, within: Duration)
        case tellCall(CallEvent)
        case fetchPushes
        case fetchCredentials
        case tellCredentials(PushRegistryEvent)
        case claim(String)
        /// The action was fulfilled before, and the daemon lost that.
        case fulfillAgain(String, CallAction.Kind)
        /// Asks where a call stands: the stream may not tell of it any more.
        case lookUp(String)
    }

    /// The longest time from one try to the next while this process has calls: less than the daemon waits for claims.
    private static let longestRetryInCall = Duration.seconds(1)

    let app: String
    private(set) var state = State.idle
    /// The secret that this process was started with.
    private let startSecret: String?
    /// The secret that the daemon gave to one that came by itself.
    private var givenSecret: String?
    /// Streams in a row that did not come about, or broke soon.
    private var failures = 0
    private let firstRetry: Duration
    private let lastRetry: Duration
    /// Whether there has been a stream before.
    private(set) var wasOpen = false

    var calls: [String: SessionCall] = [:]
    /// The highest number that any call had.
    var highestNumber: Int64 = 0
    /// The numbers of calls whose end was told: another stream, or an answer, may tell it again.
    var heardEnds: Set<Int64> = []
    /// Calls that the new stream has not told of yet.
    var untold: Set<String> = []
    /// Calls that the app has reported or claimed before the stream has told of them.
    var ownWhenTold: Set<String> = []
    /// Activations of calls' audio that were told and whose end was not, by call.
    var activeAudio: [String: Int] = [:]
    /// Those of them that the new stream has not told of yet.
    var staleAudio: Set<String> = []
    /// The call whose owed actions are being told again.
    var replayed: String?
    var nextActionNumber: UInt64 = 1
    var credentials: [PushCredentials] = []
    var isFetching = false
    var isFetchDue = false

    init(_ configuration: RingwakeClient.Configuration) {
        app = configuration.app
        startSecret = configuration.secret
        firstRetry = configuration.firstRetry
        lastRetry = configuration.lastRetry
    }

    /// What a handler's requests carry.
    var secret: String? {
        switch state {
        case .open(let secret), .opening(let secret): givenSecret ?? secret
        case .idle, .waiting, .closed: givenSecret ?? startSecret
        }
    }

    var isOpen: Bool { if case .open = state { true } else { false } }

    // MARK: - The stream

    mutating func start() -> [Effect] {
        guard state == .idle else { return [] }
        return open(with: startSecret)
    }

    private mutating func open(with secret: String?) -> [Effect] {
        state = .opening(secret: secret)
        return [.tellConnection(.connecting), .openStream(since: since, secret: secret)]
    }

    /// The lowest number of a call whose end was not heard; else the one that the next call may have. Nil before the
    /// first stream: what was over before is nobody's business here.
    private var since: Int64? {
        guard wasOpen else { return nil }
        let next = highestNumber == .max ? highestNumber : highestNumber + 1
        return max(1, calls.values.compactMap(\.number).min() ?? next)
    }

    mutating func retryDue() -> [Effect] {
        guard state == .waiting else { return [] }
        return open(with: givenSecret ?? startSecret)
    }

    /// The daemon answered with something else than a stream.
    mutating func refused(_ error: RingwakeKitError) -> [Effect] {
        guard case .opening(let secret) = state else { return [] }
        guard error.code == .notPermitted, secret != nil else { return streamEnded(error, lasted: .zero) }
        // A secret ends with the handler that it was given to; this process may be let in as a new one.
        givenSecret = nil
        return open(with: secret == startSecret ? nil : startSecret)
    }

    /// - Parameter lasted: how long it was open.
    mutating func streamEnded(_ why: RingwakeKitError, lasted: Duration) -> [Effect] {
        switch state {
        case .opening, .open: break
        case .idle, .waiting, .closed: return []
        }
        // One that breaks soon, again and again, is not to keep two processes busy.
        if isOpen, lasted >= lastRetry { failures = 0 }
        // Calls of this process wait some seconds for it to come back.
        let longest = calls.values.contains { $0.info.isOwn } ? min(lastRetry, Self.longestRetryInCall) : lastRetry
        let delay = min(longest, firstRetry * (1 << min(failures, 16)))
        failures += 1
        state = .waiting
        return [.tellConnection(.waiting(why: why, retry: delay)), .retry(after: delay)]
    }

    mutating func close() {
        state = .closed
    }

    // MARK: - What comes

    /// One line of the stream.
    mutating func take(_ line: StreamLine) -> [Effect] {
        switch (state, line) {
        case (.opening(let secret), .hello(let given)): return hello(secret, given)
        case (.opening, _): return broken("its first line does not say that this is a handler")
        case (.open, .hello): return broken("it greets twice")
        case (.open, _): break
        case (.idle, _), (.waiting, _), (.closed, _): return []
        }
        if case .action(let call, let kind, let within) = line { return action(call, kind, within) }
        replayed = nil
        switch line {
        case .wake(let push): return take(push)
        case .call(let call): return take(call)
        case .audio(let audio): return take(audio)
        case .pushesWait: return fetch()
        case .event(let event): return [.tellCall(event)]
        case .credentials(let areValid): return areValid ? [.fetchCredentials] : take(credentials: [])
        case .hello, .action, .other: return []
        }
    }

    /// The line was none.
    mutating func takeBadLine(_ error: RingwakeKitError) -> [Effect] {
        [.closeStream] + streamEnded(error, lasted: .zero)
    }

    private mutating func broken(_ how: String) -> [Effect] {
        takeBadLine(RingwakeKitError(.badAnswer, "the daemon's stream is not as it should be: \(how)"))
    }

    private mutating func hello(_ secret: String?, _ given: String?) -> [Effect] {
        givenSecret = given ?? givenSecret
        state = .open(secret: secret)
        untold = Set(calls.keys)
        isFetching = false
        ownWhenTold = []
        let known = calls.keys.sorted()
        for call in known { calls[call]?.beginStream() }
        wasOpen = true
        return [.tellConnection(.connected), .resumeRequests, .fetchCredentials] + beginAudio()
            + known.map { .lookUp($0) }
    }

    // MARK: - Pushes that are fetched, and credentials

    private mutating func fetch() -> [Effect] {
        isFetchDue = isFetching
        guard !isFetching else { return [] }
        isFetching = true
        return [.fetchPushes]
    }

    /// Nil: there was no answer.
    mutating func fetched(_ pushes: [IncomingPush]?) -> [Effect] {
        isFetching = false
        var effects: [Effect] = []
        for push in pushes ?? [] { effects += take(fetched: push) }
        // More than one answer holds may wait.
        let isMore = !effects.isEmpty || isFetchDue
        isFetchDue = false
        return effects + (isMore && isOpen ? fetch() : [])
    }

    /// What senders need now; empty: there is nothing that they could use.
    mutating func take(credentials new: [PushCredentials]) -> [Effect] {
        guard new != credentials else { return [] }
        credentials = new
        return [.tellCredentials(new.isEmpty ? .credentialsInvalidated : .credentialsUpdated(new))]
    }
}

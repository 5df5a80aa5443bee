internal import ControlProtocol

/// A client's session with the daemon: its streams, one after the other, and the app's calls.
///
///     idle --start--> opening --handler-> open --streamEnded--> waiting --retryDue--> opening
///                       |  ^                                      ^
///                       |  +-- refused, without the secret        |
///                       +------------ streamEnded, refused -------+
///     any --close--> closed
///
/// | transition | function |
/// |---|---|
/// | idle -> opening | ``start()`` |
/// | opening -> open | ``take(_:)`` of the event `handler` |
/// | opening -> opening, waiting | ``refused(_:)`` |
/// | opening, open -> waiting | ``streamEnded(_:lasted:)`` |
/// | waiting -> opening | ``retryDue()`` |
/// | any -> closed | ``close()`` |
///
/// Invariants: there is one stream in `opening` and `open`, and none in the other states. ``calls`` survive the end
/// of a stream.
struct SessionStateMachine: Sendable {
    enum State: Equatable, Sendable {
        case idle
        /// The stream is being opened with this secret.
        case opening(secret: String?)
        case open(secret: String?)
        case waiting
        case closed
    }

    /// What to do, in this order.
    enum Effect: Sendable {
        case openStream(since: Int64?, secret: String?)
        case closeStream
        case retry(after: Duration)
        case connection(ConnectionState)
        /// Sends the requests that wait for the daemon.
        case resumeRequests
        case push(IncomingPush)
        case action(Call.ID, CallAction.Kind, digits: String, with: Call.ID?, number: UInt64, within: Duration)
        case event(CallEvent)
        case fetchPushes
        case fetchCredentials
        case credentials([PushCredentials])
        case linkReset(LinkReset)
        case protectedData(EventMessage.ProtectedData)
        case restrictions(RestrictionsMessage)
        case telephony([TelephonyMessage.Modem])
        case claim(Call.ID)
        /// Fulfil the action again: the app fulfilled it, and the daemon lost the report.
        case fulfillAgain(Call.ID, CallAction.Kind)
        /// Asks for the state of a call: the stream may not report it any more.
        case lookUp(Call.ID)
    }

    /// Longest retry delay while this process has calls: shorter than the daemon's claim timeout.
    private static let longestRetryInCall = Duration.seconds(1)

    let app: String
    private(set) var state = State.idle
    /// The secret that this process was started with.
    private let startSecret: String?
    /// The secret that the daemon gave to this process as a self-connected handler.
    private var givenSecret: String?
    /// The daemon of the current or the last stream.
    private(set) var daemon: DaemonVersion?
    private var retry: StreamRetry
    /// Whether there has been a stream before.
    private var wasOpen = false

    var calls: CallRegistry
    private var credentials: [PushCredentials] = []
    /// What the app was told last.
    private var protectedData = EventMessage.ProtectedData(.available)
    private var restrictions = RestrictionsMessage()
    private var modems: [TelephonyMessage.Modem] = []
    private var isFetching = false
    private var isFetchDue = false

    init(_ configuration: RingwakeClient.Configuration) {
        app = configuration.app
        calls = CallRegistry(app: configuration.app)
        startSecret = configuration.secret
        retry = StreamRetry(configuration)
    }

    /// The secret of a handler's requests.
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
        return [.connection(.connecting), .openStream(since: since, secret: secret)]
    }

    /// The number of the first call to report; nil for the first stream: earlier ends don't concern this process.
    private var since: Int64? { wasOpen ? calls.nextNumber : nil }

    mutating func retryDue() -> [Effect] {
        guard state == .waiting else { return [] }
        return open(with: givenSecret ?? startSecret)
    }

    /// The daemon refused the stream.
    mutating func refused(_ error: RingwakeKitError) -> [Effect] {
        guard case .opening(let secret) = state else { return [] }
        guard error.code == .notPermitted, secret != nil else { return streamEnded(error, lasted: .zero) }
        // The secret expired with its handler. This process may connect as a new handler.
        givenSecret = nil
        return open(with: secret == startSecret ? nil : startSecret)
    }

    /// - Parameter lasted: how long it was open.
    mutating func streamEnded(_ why: RingwakeKitError, lasted: Duration) -> [Effect] {
        switch state {
        case .opening, .open: break
        case .idle, .waiting, .closed: return []
        }
        // The daemon keeps the calls of a lost process only for some seconds.
        let delay = retry.delay(
            after: isOpen ? lasted : .zero, atMost: calls.hasOwn ? Self.longestRetryInCall : nil)
        state = .waiting
        calls.endStream()
        return [.connection(.waiting(why: why, retry: delay)), .retry(after: delay)]
    }

    mutating func close() {
        state = .closed
        calls.endStream()
    }

    // MARK: - Lines

    /// One line of the stream.
    mutating func take(_ line: StreamLine) -> [Effect] {
        switch (state, line) {
        case (.opening(let secret), .event(.handler(let event))): return begin(secret, event)
        case (.opening, _): return broken("its first line does not say that this is a handler")
        case (.open, .event(.handler)): return broken("it begins twice")
        case (.open, .event(.action(let action))): return calls.take(action)
        case (.open, _): calls.endRepetition()
        case (.idle, _), (.waiting, _), (.closed, _): return []
        }
        switch line {
        case .wake(let push): return calls.take(push)
        case .event(.wake): return broken("a wake without its push")
        case .event(.call(let change)): return calls.take(CallStatus(change))
        case .event(.pushWaiting): return fetch()
        case .event(.credentials(let event)): return event.valid ? [.fetchCredentials] : take(credentials: [])
        case .event(.protectedData(let event)): return take(event)
        case .event(.restrictions(let event)): return take(event.restrictions)
        case .event(.telephony(let event)): return take(event.modems)
        case .event(.linkReset(let event)): return [.linkReset(LinkReset(event))]
        case .event(let event): return calls.takeAudio(event) + (CallEvent(event).map { [.event($0)] } ?? [])
        }
    }

    /// A line, or an answer, that this version does not understand.
    mutating func takeBadLine(_ error: RingwakeKitError) -> [Effect] {
        [.closeStream] + streamEnded(error, lasted: .zero)
    }

    private mutating func broken(_ how: String) -> [Effect] {
        takeBadLine(RingwakeKitError(.badAnswer, "the daemon's stream is not as it should be: \(how)"))
    }

    private mutating func begin(_ secret: String?, _ event: EventMessage.Handler) -> [Effect] {
        givenSecret = event.secret ?? givenSecret
        state = .open(secret: secret)
        isFetching = false
        wasOpen = true
        daemon = DaemonVersion(event.daemon)
        var device = take(.init(event.protectedDataAvailable ?? true ? .available : .unavailable))
        device += take(event.restrictions ?? RestrictionsMessage())
        // The stream says which there are, if there are any.
        device += take([])
        return [.connection(.connected)] + device + [.resumeRequests, .fetchCredentials] + calls.beginStream()
    }

    private mutating func take(_ event: EventMessage.ProtectedData) -> [Effect] {
        guard event != protectedData else { return [] }
        protectedData = event
        return [.protectedData(event)]
    }

    private mutating func take(_ message: RestrictionsMessage) -> [Effect] {
        guard message != restrictions else { return [] }
        restrictions = message
        return [.restrictions(message)]
    }

    private mutating func take(_ new: [TelephonyMessage.Modem]) -> [Effect] {
        guard new != modems else { return [] }
        modems = new
        return [.telephony(new)]
    }

    // MARK: - Pushes that are fetched, and credentials

    private mutating func fetch() -> [Effect] {
        isFetchDue = isFetching
        guard !isFetching else { return [] }
        isFetching = true
        return [.fetchPushes]
    }

    /// - Parameter pushes: nil: there was no answer.
    mutating func fetched(_ pushes: [IncomingPush]?) -> [Effect] {
        isFetching = false
        var effects: [Effect] = []
        for push in pushes ?? [] { effects += calls.take(fetched: push) }
        // One answer may not contain all waiting pushes.
        let isMore = !effects.isEmpty || isFetchDue
        isFetchDue = false
        return effects + (isMore && isOpen ? fetch() : [])
    }

    /// - Parameter new: empty if there are none any more.
    mutating func take(credentials new: [PushCredentials]) -> [Effect] {
        guard new != credentials else { return [] }
        credentials = new
        return [.credentials(new)]
    }
}

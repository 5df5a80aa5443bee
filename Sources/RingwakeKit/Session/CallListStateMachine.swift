/// The list of the device's calls, of every app that this user may see, while somebody reads it.
///
///     idle --begin--> opening --opened--> open --failed--> waiting --retryDue--> opening
///      ^                |  ^               |                  |
///      |                |  +---------------|------------------+
///      +-- end; failed, if this user may not see them (from any of the three)
///
/// | transition | function |
/// |---|---|
/// | idle -> opening | ``begin()`` |
/// | opening -> open | ``opened()`` |
/// | open: the list is requested, and published | ``changed()``, ``fetched(_:)`` |
/// | opening, open -> waiting, idle | ``failed(_:lasted:)`` |
/// | waiting -> opening | ``retryDue()`` |
/// | any -> idle | ``end()`` |
///
/// The stream of events only says that the list has changed. Each list is the answer to one request, so nobody gets a
/// part of one, and it is what ``CallController/calls()`` returns.
///
/// Invariants: there is one stream in `opening` and `open`, and none in the other states. At most one request is in
/// progress.
struct CallListStateMachine: Sendable {
    /// The request for the list.
    enum Request: Equatable, Sendable {
        case none
        case inProgress
        /// In progress, and the list may have changed since.
        case outdated
    }

    enum State: Equatable, Sendable {
        case idle
        case opening
        case open(Request)
        case waiting
    }

    /// What to do, in this order.
    enum Effect: Equatable, Sendable {
        case openStream
        case closeStream
        case retry(after: Duration)
        case fetch
        case publish([Call])
        /// Ends all readers.
        case fail(RingwakeKitError)
    }

    private(set) var state = State.idle
    /// The newest list; nil before the first. It stays while the daemon is away.
    private(set) var calls: [Call]?
    private var retry: StreamRetry

    init(_ configuration: RingwakeClient.Configuration) {
        retry = StreamRetry(configuration)
    }

    // MARK: - Readers

    /// The first reader came.
    mutating func begin() -> [Effect] {
        guard state == .idle else { return [] }
        state = .opening
        return [.openStream]
    }

    /// The last reader left.
    mutating func end() -> [Effect] {
        guard state != .idle else { return [] }
        state = .idle
        calls = nil
        return [.closeStream]
    }

    // MARK: - The stream

    /// The stream is open: it reports every change from now on.
    mutating func opened() -> [Effect] {
        guard state == .opening else { return [] }
        state = .open(.inProgress)
        return [.fetch]
    }

    /// A call began, changed or ended.
    mutating func changed() -> [Effect] {
        switch state {
        case .open(.none):
            state = .open(.inProgress)
            return [.fetch]
        case .open(.inProgress): state = .open(.outdated)
        case .open(.outdated), .idle, .opening, .waiting: break
        }
        return []
    }

    /// The answer to the request.
    mutating func fetched(_ list: [Call]) -> [Effect] {
        guard case .open(let request) = state, request != .none else { return [] }
        state = .open(request == .outdated ? .inProgress : .none)
        let again: [Effect] = request == .outdated ? [.fetch] : []
        guard list != calls else { return again }
        calls = list
        return [.publish(list)] + again
    }

    /// The stream was refused or ended, or the request for the list failed.
    ///
    /// - Parameter lasted: how long the stream was open.
    mutating func failed(_ error: RingwakeKitError, lasted: Duration) -> [Effect] {
        switch state {
        case .opening, .open: break
        case .idle, .waiting: return []
        }
        guard error.code != .notPermitted else { return end() + [.fail(error)] }
        state = .waiting
        return [.closeStream, .retry(after: retry.delay(after: lasted))]
    }

    mutating func retryDue() -> [Effect] {
        guard state == .waiting else { return [] }
        state = .opening
        return [.openStream]
    }
}

internal import ControlProtocol

/// The app's calls, over any number of streams. Publishes each push, change, end and action once.
///
///     unknown --push, stream, claim--> in progress --end, in the stream or by asking--> ended
///
/// | transition | function |
/// |---|---|
/// | unknown -> in progress | ``take(_:)-(IncomingPush)``, ``take(_:)-(CallStatus)`` |
/// | in progress -> ended | ``take(_:)-(CallStatus)``, ``lookedUp(_:_:)`` |
///
/// Invariants: a call is in ``calls`` from the first message about it until its end is published. The end of each
/// call, identified by its number, is published once.
struct CallRegistry: Sendable {
    typealias Effect = SessionStateMachine.Effect

    /// Maximum of ``publishedEnds``: as many as the daemon keeps ended calls.
    private static let maximumEnds = 1_024
    /// Maximum pending actions of a call: more than the daemon keeps.
    private static let maximumPending = 64

    private let app: String
    private var calls: [Call.ID: SessionCall] = [:]
    /// The highest number of any call.
    private var highestNumber: Int64 = 0
    /// Numbers of calls whose end was published. A later stream or an answer may report such an end again.
    private var publishedEnds: Set<Int64> = []
    /// Calls that the new stream has not reported yet.
    private var unreported: Set<Call.ID> = []
    /// Calls that the app has reported or claimed before the stream has reported them.
    private var ownWhenReported: Set<Call.ID> = []
    private var audio = AudioActivations()
    /// The call whose pending actions the stream is repeating now.
    private var repeated: Call.ID?
    private var nextActionNumber: UInt64 = 1
    /// Whether requests can be made now.
    private var isOpen = false

    init(app: String) {
        self.app = app
    }

    /// The calls in progress, the oldest first.
    var inProgress: [Call] {
        calls.values.sorted { ($0.number ?? .max, $0.call.id.rawValue) < ($1.number ?? .max, $1.call.id.rawValue) }
            .map(\.call)
    }

    /// Whether any call belongs to this process.
    var hasOwn: Bool { calls.values.contains { $0.call.isOwn } }

    /// The lowest number of a call in progress; else the lowest that the next call may have.
    var nextNumber: Int64 {
        let next = highestNumber == .max ? highestNumber : highestNumber + 1
        return max(1, calls.values.compactMap(\.number).min() ?? next)
    }

    // MARK: - Streams

    mutating func beginStream() -> [Effect] {
        isOpen = true
        unreported = Set(calls.keys)
        ownWhenReported = []
        for call in calls.keys { calls[call]?.beginStream() }
        // The stream doesn't report ended calls that the daemon has forgotten, so look each call up.
        return audio.beginStream(inProgress: unreported).map { .event($0) }
            + unreported.sorted { $0.rawValue < $1.rawValue }.map { .lookUp($0) }
    }

    mutating func endStream() {
        isOpen = false
    }

    /// Any line other than an action ends the repetition of pending actions.
    mutating func endRepetition() {
        repeated = nil
    }

    // MARK: - Pushes

    /// A push for this process, however it arrived.
    mutating func take(_ push: IncomingPush) -> [Effect] {
        let known = calls[push.call]
        switch push.kind {
        case .claim:
            // This process had the call before: no need to ask the app.
            if known?.call.isOwn == true { return claim(push.call) }
            // Each fetch returns it until the call is claimed.
            if known?.isClaimDelivered == true { return [] }
            calls[push.call] = known ?? SessionCall(Call(id: push.call, app: app, state: .woken))
            calls[push.call]?.isClaimDelivered = true
        case .call:
            // A higher attempt: the daemon was restarted, and doesn't have the report.
            if let known, known.attempt >= push.attempt { return [] }
            own(push.call)
            calls[push.call]?.attempt = push.attempt
        case .start:
            // No push: the app gets the action to start it, and the stream has whom to call.
            own(push.call, isOutgoing: true)
            return []
        default:
            own(push.call)
        }
        return [.push(push)]
    }

    /// Each fetch returns all pushes of a call that isn't reported yet. Delivers each update once.
    mutating func take(fetched push: IncomingPush) -> [Effect] {
        let effects = take(push)
        guard push.kind == .update, !effects.isEmpty else { return effects }
        let state = calls[push.call]?.call.state
        guard state == .queued || state == .woken else { return effects }
        return calls[push.call]?.fetched.insert(push.payload).inserted == true ? effects : []
    }

    private mutating func own(_ call: Call.ID, isOutgoing: Bool = false) {
        var entry =
            calls[call]
            ?? SessionCall(
                Call(id: call, app: app, isOutgoing: isOutgoing, state: isOutgoing ? .dialling : .woken))
        entry.call.isOwn = true
        calls[call] = entry
    }

    // MARK: - Owning

    /// What ``beginOwning(_:isClaim:)`` changed.
    struct Owning: Sendable {
        var isNew = false
        var isClaim = false
    }

    /// The app reports or claims the call. Actions may arrive before the daemon's answer, so the call is this
    /// process's from now on.
    mutating func beginOwning(_ call: Call.ID, isClaim: Bool) -> Owning {
        guard let entry = calls[call] else {
            if ownWhenReported.count < Self.maximumEnds { ownWhenReported.insert(call) }
            return Owning(isNew: true)
        }
        let owning = Owning(isNew: !entry.call.isOwn, isClaim: isClaim && !entry.isBeingClaimed)
        calls[call]?.call.isOwn = true
        if isClaim { calls[call]?.isBeingClaimed = true }
        return owning
    }

    /// The daemon refused the report or the claim.
    ///
    /// - Parameter isOthers: whether it has given the call to another process. A push had brought it here before; a
    ///   daemon that was killed just after may have started another handler for it. A call that is lost is nobody's.
    mutating func endOwning(_ call: Call.ID, _ owning: Owning, isOthers: Bool) {
        if owning.isNew || (isOthers && calls[call]?.isLost != true) {
            ownWhenReported.remove(call)
            calls[call]?.call.isOwn = false
        }
        if owning.isClaim { calls[call]?.isBeingClaimed = false }
    }

    // MARK: - States

    mutating func take(_ status: CallStatus) -> [Effect] {
        let isFirst = unreported.remove(status.call) != nil
        if let number = status.number {
            highestNumber = max(highestNumber, number)
            guard !publishedEnds.contains(number) else { return [] }
        }
        guard status.state != .ended else { return end(status) }
        var entry = calls[status.call] ?? SessionCall(Call(status, app: app))
        let before = entry.isReported ? entry.call : nil
        if ownWhenReported.remove(status.call) != nil { entry.call.isOwn = true }
        entry.isReported = true
        entry.number = status.number ?? entry.number
        entry.call.state = status.state
        entry.call.endReason = status.endReason
        entry.call.takeOther(of: status)
        entry.call.hasVideo = status.hasVideo ?? entry.call.hasVideo
        entry.call.isMuted = status.isMuted
        entry.call.supportsHolding = status.supportsHolding
        entry.call.supportsDTMF = status.supportsDTMF
        entry.call.supportsMerging = status.supportsMerging
        entry.call.conference = status.conference
        entry.isLost = status.claimWithin != nil
        if status.state != .queued, status.state != .woken { entry.fetched = [] }
        let isClaimed = entry.isBeingClaimed && status.claimWithin == nil
        if isClaimed { entry.isBeingClaimed = false }
        calls[status.call] = entry
        // The stream repeats the pending actions right after this: on a new stream, and when the call has a handler
        // again.
        if isFirst || isClaimed { repeated = status.call }
        var effects: [Effect] = before == entry.call ? [] : [.event(.changed(entry.call))]
        if isClaimed { effects.append(.event(.claimed(entry.call))) }
        guard let within = status.claimWithin else {
            calls[status.call]?.isClaimDelivered = false
            return effects
        }
        guard entry.call.isOwn else { return effects + [.event(.lost(entry.call, claimWithin: within))] }
        return effects + claim(status.call)
    }

    private mutating func end(_ status: CallStatus) -> [Effect] {
        let known = calls[status.call]
        // A later call with the same id is in progress; this isn't its end.
        if let number = status.number, let later = known?.number, later > number { return [] }
        var call = known?.call ?? Call(status, app: app)
        let reason = status.endReason ?? .failed
        call.state = .ended
        call.endReason = reason
        call.conference = nil
        call.takeOther(of: status)
        calls[status.call] = nil
        if let number = status.number ?? known?.number { publishedEnds.insert(number) }
        if publishedEnds.count > Self.maximumEnds, let oldest = publishedEnds.min() { publishedEnds.remove(oldest) }
        return (audio.ended(status.call) + [.ended(call, reason: reason)]).map { .event($0) }
    }

    /// The answer about a call that the new stream may not report.
    ///
    /// - Parameter status: nil: the daemon knows no such call.
    mutating func lookedUp(_ call: Call.ID, _ status: CallStatus?) -> [Effect] {
        guard let entry = calls[call] else { return [] }
        var status = status ?? CallStatus(forgotten: call)
        // The stream reports calls in progress. It can only miss ends.
        guard status.state == .ended else { return [] }
        status.number = entry.number
        return end(status)
    }

    /// The effects of an audio event; empty for all other events.
    mutating func takeAudio(_ event: EventMessage) -> [Effect] {
        let events =
            switch event {
            case .audioActivated(let event): audio.activated(event)
            case .audioDeactivated(let event): audio.deactivated(event)
            case .audioFailed(let event): audio.failed(event)
            case .audioRouteChanged(let event): audio.routeChanged(event)
            default: [CallEvent]()
            }
        return events.map { .event($0) }
    }

    // MARK: - Claims

    private mutating func claim(_ call: Call.ID) -> [Effect] {
        guard isOpen, calls[call]?.isBeingClaimed == false else { return [] }
        calls[call]?.isBeingClaimed = true
        return [.claim(call)]
    }

    /// The claim was refused, or got no answer. A successful one shows in the stream.
    mutating func claimFailed(_ call: Call.ID) -> [Effect] {
        guard calls[call]?.isBeingClaimed == true else { return [] }
        calls[call]?.isBeingClaimed = false
        return isOpen ? [.lookUp(call)] : []
    }

    // MARK: - Actions

    mutating func take(_ action: EventMessage.Action) -> [Effect] {
        let (call, digits) = (Call.ID(rawValue: action.call), action.digits ?? "")
        let kind = CallAction.Kind(rawValue: action.action)
        guard var entry = calls[call], entry.call.isOwn else { return [] }
        if repeated == call || entry.isBeingClaimed {
            let known = entry.repeated(kind, digits)
            calls[call] = entry
            switch known {
            case .known: return []
            case .fulfilled: return [.fulfillAgain(call, kind)]
            case .none: break
            }
        }
        // The daemon requests an action again only after the earlier one's deadline, so drop the earlier one.
        if kind != .dtmf { entry.pending.removeAll { $0.kind == kind } }
        let number = nextActionNumber
        nextActionNumber += 1
        entry.pending.append(SessionCall.PendingAction(number: number, kind: kind, digits: digits))
        if entry.pending.count > Self.maximumPending { entry.pending.removeFirst() }
        calls[call] = entry
        return [
            .action(
                call, kind, digits: digits, with: action.with.map { Call.ID(rawValue: $0) }, number: number,
                within: .milliseconds(max(0, action.deadlineMs)))
        ]
    }

    /// The app begins to fulfil or fail an action.
    ///
    /// - Returns: False if the action is not pending, or not any more.
    mutating func beginAnswer(_ call: Call.ID, _ number: UInt64) -> Bool {
        guard let index = calls[call]?.pending.firstIndex(where: { $0.number == number }),
            calls[call]?.pending[index].isBeingAnswered == false
        else { return false }
        calls[call]?.pending[index].isBeingAnswered = true
        return true
    }

    /// The outcome of fulfilling or failing an action.
    enum AnswerOutcome: Sendable {
        case fulfilled
        case failed
        /// The action is not pending at the daemon any more.
        case over
        /// Not known: the app may try again.
        case unknown
    }

    mutating func endAnswer(_ call: Call.ID, _ number: UInt64, _ outcome: AnswerOutcome) {
        guard let index = calls[call]?.pending.firstIndex(where: { $0.number == number }) else { return }
        if case .unknown = outcome {
            calls[call]?.pending[index].isBeingAnswered = false
            return
        }
        guard let action = calls[call]?.pending.remove(at: index) else { return }
        if case .fulfilled = outcome, [.answer, .start, .end].contains(action.kind) {
            calls[call]?.fulfilled.insert(action.kind)
        }
    }
}

extension Call {
    /// Takes who it is with. A call that was transferred keeps nothing of who it was.
    fileprivate mutating func takeOther(of status: CallStatus) {
        if let other = status.caller, other != caller { (caller, callerName, identifiedAs) = (other, nil, nil) }
        callerName = status.callerName ?? callerName
        identifiedAs = status.identifiedAs ?? identifiedAs
    }
}

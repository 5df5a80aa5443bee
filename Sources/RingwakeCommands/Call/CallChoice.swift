import ControlProtocol
import RingwakeCore

/// Finds the call that a user's command means: by its id, by the first characters of its id, or as the only one that
/// fits.
struct CallChoice {
    /// A call, as the daemon's routes name it.
    struct Reference: Equatable {
        let id: String
        let app: String?
    }

    /// Which calls a command fits.
    struct Fit {
        /// Follows "no call is": `ringing`.
        let adjective: String
        let includes: (CallMessage) -> Bool
        /// Whether the calls of a conference count as one: what is done to one is done to all.
        var isForConferences = false
    }

    let client: ControlClient
    /// The app whose calls may be meant; nil for all.
    let app: String?
    /// What the user typed before the id: `ringwake call answer`.
    let command: String
    let fit: Fit
    /// Whether an ended call may be meant.
    var includesEnded = false

    private var ids: ShortID<CallMessage> {
        ShortID(
            plural: "calls", heading: includesEnded ? "The newest calls" : "In progress", id: \.call,
            details: CallText.short)
    }

    /// Does `act` with the call that `written` means; nil means the only call that fits.
    func use<Answer>(
        _ written: String?, _ act: (Reference) throws(RingwakeError) -> Answer
    ) throws(RingwakeError) -> Answer {
        guard let written else { return try act(CallChoice.reference(to: try only())) }
        return try ids.use(
            written,
            { () throws(RingwakeError) in try act(Reference(id: written, app: app)) },
            list: { () throws(RingwakeError) in try candidates(for: written) },
            found: { (call) throws(RingwakeError) in try act(CallChoice.reference(to: call)) })
    }

    /// The id that begins with `written`, for a command that waits for what happens to the call. That may be one that
    /// doesn't exist yet, by its whole id.
    static func watched(
        _ written: String, of app: String?, _ command: String, by client: ControlClient, in context: CommandContext
    ) throws(RingwakeError) -> Reference {
        // A handler has the whole id.
        let whole = Reference(id: written, app: app)
        guard written != context.environment("RINGWAKE_CALL") else { return whole }
        var choice = CallChoice(client: client, app: app, command: command, fit: .looking)
        choice.includesEnded = true
        do throws(RingwakeError) {
            return try choice.use(written) { (reference) throws(RingwakeError) -> Reference in
                let call: CallMessage = try client.get(
                    RequestTarget("calls", reference.id, query: [("app", reference.app)]))
                return Reference(id: call.call, app: call.app)
            }
        } catch {
            guard error.code == .notFound else { throw error }
            return whole
        }
    }

    private static func isConference(_ calls: [CallMessage]) -> Bool {
        guard let first = calls.first, first.conference != nil else { return false }
        return calls.allSatisfy { $0.conference == first.conference && $0.app == first.app }
    }

    /// The only call that fits.
    func only() throws(RingwakeError) -> CallMessage {
        let calls = try inProgress()
        let fitting = calls.filter(fit.includes)
        if let first = fitting.first, fitting.count == 1 || (fit.isForConferences && Self.isConference(fitting)) {
            return first
        }
        guard fitting.isEmpty else {
            let example = fitting.first.map { ids.short($0.call, among: fitting) } ?? "ID"
            throw RingwakeError(
                .conflict,
                "several calls are \(fit.adjective): \(ids.named(fitting)); give the id of one, such as "
                    + "'\(command) \(example)'")
        }
        guard !calls.isEmpty else {
            throw RingwakeError(
                .notFound, "no call is in progress; 'ringwake call list' shows the call log")
        }
        throw RingwakeError(
            .notFound,
            "no call is \(fit.adjective); in progress: \(ids.named(calls)). 'ringwake call list' shows all")
    }

    /// The calls that a prefix may mean. Throws if `written` means a call that has ended and the command is not for
    /// those.
    private func candidates(for written: String) throws(RingwakeError) -> [CallMessage] {
        let calls = try list(limit: ControlAPI.maximumListLimit)
        guard !includesEnded else { return calls }
        let active = calls.filter { !$0.hasEnded }
        if let ended = try ended(written, among: calls.filter(\.hasEnded), and: active) {
            let others = active.isEmpty ? "no call is in progress" : "in progress: \(ids.named(active))"
            throw RingwakeError(
                .notFound,
                "the call '\(ended.call)' has ended\(CallText.reason(of: ended)); \(others)"
            )
        }
        return active
    }

    /// The ended call that `written` means: by its whole id, or by a prefix that no call in progress has.
    private func ended(
        _ written: String, among ended: [CallMessage], and active: [CallMessage]
    ) throws(RingwakeError) -> CallMessage? {
        if let exact = ended.first(where: { $0.call == written }) { return exact }
        guard try ids.match(written, among: active) == nil else { return nil }
        return try ids.match(written, among: ended)
    }

    private func inProgress() throws(RingwakeError) -> [CallMessage] {
        try list(limit: 1).filter { !$0.hasEnded }
    }

    /// All calls in progress, and `limit` of the log.
    private func list(limit: Int) throws(RingwakeError) -> [CallMessage] {
        let list: CallListMessage = try client.get(
            RequestTarget("calls", query: [("app", app), ("limit", "\(limit)")]))
        return list.calls
    }

    private static func reference(to call: CallMessage) -> Reference { Reference(id: call.call, app: call.app) }
}

extension CallMessage {
    fileprivate typealias State = CallStateMachine.State.Name

    fileprivate var hasEnded: Bool { isIn(.ended) }

    fileprivate func isIn(_ states: State...) -> Bool { states.contains { $0.rawValue == state } }
}

extension CallChoice.Fit {
    /// The calls that a user may mean by `verb`.
    init(_ verb: CallVerb) {
        switch verb {
        case .answer, .decline: self.init(adjective: "ringing") { $0.isIn(.ringing) }
        case .hold, .dtmf: self.init(adjective: "connected") { $0.isIn(.connected) }
        case .unhold: self.init(adjective: "held") { $0.isIn(.held) }
        case .mute:
            self.init(adjective: "connected and not muted") { $0.isIn(.connecting, .connected, .held) && !$0.muted }
        case .merge: self.init(adjective: "connected or held") { $0.isIn(.connected, .held) }
        case .unmute: self.init(adjective: "muted") { $0.muted && !$0.hasEnded }
        case .end, .report, .ring, .update, .fulfill, .fail, .ended, .connecting, .connected, .audio, .claim:
            self.init(adjective: "in progress") { !$0.isIn(.ending, .ended) }
        }
        isForConferences = [.hold, .unhold, .mute, .unmute, .merge].contains(verb)
    }

    /// The calls of the same app that a call may be merged with, if the user names none.
    static func merging(with call: CallMessage) -> CallChoice.Fit {
        let isHeld = call.isIn(.held)
        return CallChoice.Fit(
            adjective: isHeld ? "connected" : "held",
            includes: { $0.call != call.call && $0.app == call.app && $0.isIn(isHeld ? .connected : .held) },
            isForConferences: true)
    }

    /// For a command that only looks.
    static var looking: CallChoice.Fit { CallChoice.Fit(adjective: "in progress") { !$0.hasEnded } }
}

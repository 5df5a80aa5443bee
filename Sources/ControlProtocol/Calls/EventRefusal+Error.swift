package import RingwakeCore

extension EventRefusal {
    /// The refusal as an error of the control API.
    ///
    /// - Parameter doing: what was refused, as the subject of a sentence.
    package func error(_ doing: String) -> RingwakeError {
        switch self {
        case .unknownCall(let key):
            RingwakeError(.notFound, "no call '\(key.id)' of \(key.app)")
        case .wrongState(let key, let state):
            RingwakeError(
                .conflict,
                "call '\(key.id)' \(state.name == .ended ? "has" : "is") \(state.name.rawValue)"
                    + "\(state.endReason.map { " (\($0))" } ?? ""); \(doing) is not possible now")
        case .notOwned(let key):
            RingwakeError(.notPermitted, "call '\(key.id)' of \(key.app) belongs to another handler")
        case .unknownHandler:
            RingwakeError(.notPermitted, "the handler that this secret was given to has ended")
        case .tooManyCalls(let app):
            RingwakeError(.limitReached, "\(app) has its maximum of active calls")
        case .tooManyPushes(let app):
            RingwakeError(.limitReached, "calls of \(app) begin, or take the place of others, too fast")
        case .tooManyHandlers(let app):
            RingwakeError(.limitReached, "\(app) has its maximum of connected handlers; close one")
        case .othersStay(let key):
            RingwakeError(
                .conflict,
                "another call could not be held or ended for '\(key.id)', so nothing was changed; "
                    + "end the other one first")
        case .alreadyAsked(let key, let action):
            RingwakeError(
                .conflict,
                "the handler of call '\(key.id)' is being asked for \(action.rawValue), or has enough to do; wait")
        case .unclaimed(let key):
            RingwakeError(.conflict, "call '\(key.id)' has lost its handler, and none has claimed it yet")
        case .badDigits:
            RingwakeError(.invalidRequest, "digits are 1 to 32 of 0-9, *, #, A-D and ',' for a pause")
        case .knownCall(let key):
            RingwakeError(.conflict, "\(key.app) has a call '\(key.id)' already; give another id, or none")
        case .unsupported(let key, let action):
            RingwakeError(
                .conflict, "the app can't do this in call '\(key.id)': it does not support \(action.rawValue)")
        case .otherHandler(let key):
            RingwakeError(
                .conflict, "call '\(key.id)' of \(key.app) belongs to another handler, and one handler mixes them all")
        case .notForApp(let key):
            RingwakeError(
                .notPermitted,
                "\(key.app) may not answer, resume, unmute or begin calls itself: calls.self_answer is false; "
                    + "the user does")
        case .cellularCall:
            RingwakeError(.conflict, "the device is in a cellular call; end it first")
        case .struckOut(let app):
            RingwakeError(
                .conflict,
                "the handler of \(app) has too many strikes and is not started; "
                    + "'ringwake app clear-strikes \(app)' gives it another chance")
        }
    }
}

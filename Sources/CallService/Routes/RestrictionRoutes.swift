internal import ControlProtocol
internal import RingwakeCore

/// `/v1/apps/{app}/restrictions`: what an app may know of the device's restrictions.
enum RestrictionRoutes {
    /// The maximum characters of a caller.
    private static let maximumCaller = 1024

    static func show(
        _ request: ServiceRequest, _ service: CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        try request.require("GET")
        let app = try app(in: request, service)
        turn.respond(request.id, RestrictionsMessage(service.screening.restrictions(of: app, turn)))
    }

    /// Whether a caller is blocked. A handler may not ask so often that it could try out numbers; the owner can read the
    /// lists.
    static func check(
        _ request: ServiceRequest, _ service: inout CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        guard request.parts[2...] == ["restrictions", "caller"] else {
            throw RingwakeError(.notFound, "there is nothing at \(request.target)")
        }
        try request.require("GET", parameters: ["caller"])
        try request.caller.requireOwnerOrHandler()
        let app = try app(in: request, service)
        guard let text = request.query["caller"] else {
            throw RingwakeError(.invalidRequest, "'caller' is missing: who is asked about")
        }
        guard text.unicodeScalars.count <= maximumCaller else {
            throw RingwakeError(.invalidRequest, "'caller' has more than \(maximumCaller) characters")
        }
        if request.caller.wake != nil, let wait = service.screening.questions.ask(app, at: turn.now) {
            return turn.add(.refuseForNow(request.id, wait, json: controlJSON(tooMany(app))))
        }
        turn.respond(request.id, CallerBlockMessage(blocked: service.screening.isBlocked(text, turn)))
    }

    private static func tooMany(_ app: AppID) -> ErrorMessage {
        ErrorMessage(
            error: RingwakeError.Code.limitReached.slug,
            message: "\(app) asked about \(CallerQuestions.atOnce) callers at once; after that it may ask about one "
                + "each second")
    }

    private static func app(
        in request: ServiceRequest, _ service: CallServiceStateMachine
    ) throws(RingwakeError) -> AppID {
        let app = try request.pathApp()
        if let error = service.error(ofFilter: app) { throw error }
        return app
    }
}

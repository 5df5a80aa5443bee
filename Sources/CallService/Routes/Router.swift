internal import ControlProtocol
internal import RingwakeCore

/// Finds the route for a request, and checks the sender's permission.
enum Router {
    static func answer(_ received: ServiceRequest, _ service: inout CallServiceStateMachine, _ turn: inout Turn) {
        var request = received
        do throws(RingwakeError) {
            try request.parse()
            try request.identify(service.handlers, turn.host)
            try route(request, &service, &turn)
        } catch {
            turn.respond(request.id, .failure(error))
        }
    }

    private static func route(
        _ request: ServiceRequest, _ service: inout CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        switch (request.parts.first, request.parts.count) {
        // Strangers get less; the receiving part of the daemon sees to it.
        case ("status", 1), ("path", 1), ("reachability", 1), ("audio", _): turn.add(.forward(request))
        case ("telephony", 1):
            if request.caller == .stranger { throw Caller.strangersMayNot }
            turn.add(.forward(request))
        case ("metrics", 1):
            // Whoever sees the counters rise sees when calls come: the same people as for the whole status.
            try request.caller.requirePerson()
            turn.add(.forward(request))
        case ("reload", 1), ("restart", 1), ("clock", 2), ("store", 1), ("store", 2), ("refusals", 1), ("apps", 1),
            ("apps", 2), ("gateway", _), ("link", _), ("identity", _):
            try request.caller.requireOwner()
            turn.add(.forward(request))
        case ("protection", 1), ("protection", 2):
            // Locking harms nobody's data. What opens or destroys it is the owner's.
            if request.parts.count == 1 || request.parts[1] == "lock" {
                try request.caller.requirePerson()
            } else {
                try request.caller.requireOwner()
            }
            turn.add(.forward(request))
        case ("apps", 3): try AppRoutes.answer(request, &service, &turn)
        case ("apps", 4): try RestrictionRoutes.check(request, &service, &turn)
        case ("pushes", 1): try PushRoutes.list(request, &turn)
        case ("pushes", 2): try PushRoutes.show(request, &turn)
        case ("calls", 1) where request.method != "GET": try CallRoutes.start(request, service, &turn)
        case ("calls", 1): try CallRoutes.list(request, service, &turn)
        case ("calls", 2): try CallRoutes.show(request, service, &turn)
        case ("calls", 3): try CallRoutes.act(request, &service, &turn)
        case ("events", 1): try StreamRoutes.subscribe(request, &service, &turn)
        case ("dnd", 1): try DoNotDisturbRoutes.answer(request, &service, &turn)
        case ("lists", _), ("imports", _): try ListRoutes.answer(request, service, &turn)
        default: throw RingwakeError(.notFound, "there is nothing at \(request.target)")
        }
    }
}

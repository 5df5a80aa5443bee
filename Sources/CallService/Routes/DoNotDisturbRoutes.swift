internal import ControlProtocol
internal import RingwakeCore

/// `/v1/dnd`: when calls are restricted, and the exceptions.
enum DoNotDisturbRoutes {
    static func answer(
        _ request: ServiceRequest, _ service: inout CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        try request.caller.requirePerson()
        let (rules, moment) = (service.screening.rules, turn.host.moment())
        guard request.method == "PUT" else {
            try request.require("GET")
            return turn.respond(request.id, DoNotDisturbMessage(rules.doNotDisturb, at: moment))
        }
        try request.require("PUT")
        let change = try request.decode(DoNotDisturbChange.self, empty: nil)
        let new = try rules.doNotDisturb.changed(by: change, dialling: rules.dialling, at: moment)
        // An app that was allowed and is not configured any more may stay in the list.
        for app in new.allowedApps where !rules.doNotDisturb.allowedApps.contains(app) {
            if let error = service.error(ofFilter: app) { throw error }
        }
        // The change applies at once.
        service.set(new)
        turn.add(
            .storeDoNotDisturb(new) { result in
                .resumed { service, turn in
                    service.settle(new, isStored: (try? result.get()) != nil)
                    let rules = service.screening.rules.doNotDisturb
                    turn.respond(request.id, result.map { DoNotDisturbMessage(rules, at: turn.host.moment()) })
                }
            })
    }
}

extension DoNotDisturb {
    /// The rules with this change applied.
    fileprivate func changed(
        by change: DoNotDisturbChange, dialling: DiallingRules, at moment: LocalMoment
    ) throws(RingwakeError) -> DoNotDisturb {
        var new = self
        if let times = change.schedule {
            var entries: [QuietHours] = []
            for text in times { entries.append(try QuietHours(text)) }
            try new.setSchedule(entries)
        }
        if let names = change.allowApps {
            var apps: [AppID] = []
            for name in names {
                guard let app = AppID(name) else {
                    throw RingwakeError(.invalidRequest, "'\(name)' is not a bundle id")
                }
                apps.append(app)
            }
            try new.setAllowedApps(apps)
        }
        if let texts = change.allowCallers {
            var callers: [CallerPattern] = []
            for text in texts { callers.append(try CallerPattern(text, rules: dialling)) }
            try new.setAllowedCallers(callers)
        }
        if let milliseconds = change.repeatWithinMs {
            guard (0...DoNotDisturb.longestRepeat.milliseconds).contains(milliseconds) else {
                throw RingwakeError(.invalidRequest, "'repeatWithinMs' is 0, or a time of at most an hour")
            }
            try new.setRepeatWithin(milliseconds == 0 ? nil : .milliseconds(milliseconds))
        }
        try new.turn(change, at: moment)
        return new
    }

    private mutating func turn(_ change: DoNotDisturbChange, at moment: LocalMoment) throws(RingwakeError) {
        switch (change.state, change.until) {
        case (nil, nil):
            break
        case ("off", nil):
            turnOff(at: moment)
        case ("on", nil):
            turnOn()
        case ("on", let text?):
            guard let until = UTCTime(text) else {
                throw RingwakeError(
                    .invalidRequest, "'until' is a time such as 2026-11-22T07:00:00.000Z, not '\(text)'")
            }
            guard until.milliseconds > moment.wallMilliseconds else {
                throw RingwakeError(.invalidRequest, "'until' is over already: \(text)")
            }
            turnOn(untilMilliseconds: until.milliseconds)
        case (_, _?):
            throw RingwakeError(.invalidRequest, "'until' goes with the state 'on'")
        case (let state?, nil):
            throw RingwakeError(.invalidRequest, "'state' is 'on' or 'off', not '\(state)'")
        }
    }
}

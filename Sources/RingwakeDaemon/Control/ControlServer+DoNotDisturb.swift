internal import ControlProtocol
internal import HTTPServer
internal import RingwakeCore

// `/v1/dnd`: when calls are kept out, and who comes through all the same.
extension ControlServer {
    func doNotDisturb(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.caller.requireOwner()
        guard request.method == "PUT" else {
            try request.require("GET")
            return exchange.respond(.success(DoNotDisturbMessage(runner.screen.rules.doNotDisturb, at: .now())))
        }
        try request.require("PUT")
        let change = try request.decode(DoNotDisturbChange.self, empty: nil)
        let new = try runner.screen.rules.doNotDisturb.changed(by: change, dialling: runner.screen.dialling, at: .now())
        runner.screen.change(new) { [self] result in
            exchange.respond(
                result.map { DoNotDisturbMessage(runner.screen.rules.doNotDisturb, at: LocalMoment.now()) })
        }
    }
}

extension DoNotDisturb {
    /// The same with what the change says.
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

extension DoNotDisturbMessage {
    fileprivate init(_ rules: DoNotDisturb, at moment: LocalMoment) {
        let state = StatusMessage.DoNotDisturb(rules, at: moment)
        var until: String?
        if case .on(let end?) = rules.position, state.state == "on" { until = UTCTime(milliseconds: end).description }
        self.init(
            state: state.state, active: state.active, until: until, schedule: rules.schedule.map(\.description),
            repeatWithinMs: rules.repeatWithin?.milliseconds, allowApps: rules.allowedApps.map(\.rawValue),
            allowCallers: rules.allowedCallers.map(\.description), why: rules.text(at: moment))
    }
}

extension StatusMessage.DoNotDisturb {
    /// How do not disturb stands: switched on, by its schedule alone, or off.
    init(_ rules: DoNotDisturb, at moment: LocalMoment) {
        let isActive = rules.isActive(at: moment)
        let isSwitchedOn: Bool
        switch rules.position {
        case .on(let until): isSwitchedOn = until.map { moment.wallMilliseconds < $0 } ?? true
        case .off, .scheduled: isSwitchedOn = false
        }
        let state = isSwitchedOn ? "on" : rules.schedule.isEmpty ? "off" : "scheduled"
        self.init(state: state, active: isActive)
    }
}

extension CallScreen {
    func doNotDisturbStatus() -> StatusMessage.DoNotDisturb {
        StatusMessage.DoNotDisturb(rules.doNotDisturb, at: .now())
    }
}

internal import DaemonConfiguration
internal import ControlProtocol
internal import HandlerActivation
internal import RingwakeCore

extension AppMessage {
    /// What the configuration says about an app.
    nonisolated init(_ app: AppConfiguration, in configuration: Configuration, strikes: StrikesMessage) {
        let topic = Topic.voip(of: app.id).rawValue
        let teams = configuration.teams(pushingTo: app.id).map(\.id)
        let (way, wake, exec) = app.way.description
        self.init(app: app.id.rawValue, topic: topic, exec: exec, file: app.file)
        (self.way, self.wake, instances) = (way, wake, app.instances.rawValue)
        (payload, level, self.teams, self.strikes) = (app.payload.preset, app.level, teams.sorted(), strikes)
        onlyGateway = configuration.role == .device ? true : nil
        vendor = configuration.vendor(of: app)?.description
        if app.isBare { state = "broken" }
        why = configuration.setAside(of: app.id)?.why
    }
}

extension HandlerWay? {
    /// How the control API describes it: the way, what is woken, and the command if there is one.
    fileprivate nonisolated var description: (way: String, wake: String, exec: [String]) {
        switch self {
        case nil: ("connected", "", [])
        case .exec(let command): ("exec", command.joined(separator: " "), command)
        case .transientUnit(let command, let manager):
            ("transient", "\(command.joined(separator: " ")) (in a unit of the \(manager.rawValue) manager)", command)
        case .unit(let name, let manager): ("unit", "\(name) (of the \(manager.rawValue) manager)", [])
        case .dbus(let name): ("dbus", "\(name.name) \(name.path) (\(name.bus.rawValue) bus)", [])
        case .socket(let path): ("socket", path, [])
        }
    }
}

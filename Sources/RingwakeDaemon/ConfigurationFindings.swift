internal import ControlProtocol
internal import DaemonConfiguration
internal import DeviceServices
internal import FileSystem
internal import Glibc
internal import HandlerActivation
internal import PushGateway
internal import RingwakeCore
internal import VoIPCertificates

/// What `ringwaked --check-config` finds: everything that a configuration names, without starting anything.
struct ConfigurationFindings {
    /// What the command line needs, with every problem.
    let message: ConfigurationMessage
    /// The first problem with which the daemon would not start; nil if there is none.
    let error: RingwakeError?

    init(_ configuration: Configuration) throws(RingwakeError) {
        var error: RingwakeError?
        var credentials: Credentials?
        do throws(RingwakeError) {
            credentials = try Credentials(configuration)
        } catch let refusal {
            error = refusal
        }
        var message = try ConfigurationMessage(configuration, credentials?.gateway ?? .init(teams: []))
        var inventory = CredentialInventory(configuration)
        message.problems = inventory.problems(of: configuration)
        for app in configuration.apps.values.sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
            var handler = ConfigurationMessage.Handler(app)
            do throws(RingwakeError) {
                try app.way?.check(of: app.id)
            } catch let refusal {
                handler.problem = refusal.message
                // The message already names the app's file.
                if error == nil { error = RingwakeError(.badConfiguration, refusal.message) }
            }
            message.handlers.append(handler)
        }
        message.dependencies = ConfigurationFindings.dependencies(of: configuration)
        message.user = geteuid()
        self.message = message
        self.error = error
    }

    private typealias Dependency = ConfigurationMessage.Dependency

    private static func dependencies(of configuration: Configuration) -> [Dependency] {
        let ring = configuration.ring
        let commands = [("ring.command", ring.command), ("ring.vibrate", ring.vibrate), ("ring.waiting", ring.waiting)]
        var dependencies = commands.compactMap { name, command in
            command?.first.map { Dependency(name: name, path: $0, problem: problem(ofProgram: $0)) }
        }
        if let file = ring.ringtone {
            let isReadable = faccessat(AT_FDCWD, file, R_OK, AT_EACCESS) == 0
            dependencies.append(
                .init(
                    name: "ring.ringtone", path: file,
                    problem: isReadable ? nil : "the daemon's user cannot read it; put it there, or correct the path"))
        }
        switch AudioEngineWay(configuration, isRoot: geteuid() == 0) {
        case .program(let path, journal: _):
            dependencies.append(.init(name: "audio.program", path: path, problem: problem(ofProgram: path)))
        case .socket(let path):
            dependencies.append(
                .init(
                    name: "audio.socket", path: path,
                    problem: FileSystem.exists(path)
                        ? nil : "there is no socket; start ringwake-audio as the audio server's user"))
        case nil: break
        }
        let state = configuration.stateDirectory
        dependencies.append(.init(name: "state_directory", path: state, problem: problem(ofDirectory: state)))
        return dependencies
    }

    private static func problem(ofProgram path: String) -> String? {
        guard FileSystem.exists(path) else { return "there is no such file; install it, or correct the path" }
        return FileSystem.isExecutableFile(path)
            ? nil : "the daemon's user may not execute it; run chmod +x, or correct the path"
    }

    /// A missing directory is none: the daemon makes it, or systemd does.
    private static func problem(ofDirectory path: String) -> String? {
        guard faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0, errno != ENOENT else { return nil }
        return "the daemon's user cannot write there: \(String(cString: strerror(errno))); "
            + "change its owner, or set state_directory to another"
    }
}

extension ConfigurationMessage.Handler {
    init(_ app: AppConfiguration) {
        self.init(app: app.id.rawValue, way: "connected", target: "")
        switch app.way {
        case nil: break
        case .exec(let command): (way, target) = ("exec", command.first ?? "")
        case .transientUnit(let command, let manager):
            (way, target, self.manager) = ("transient", command.first ?? "", manager.rawValue)
        case .unit(let name, let manager): (way, target, self.manager) = ("unit", name, manager.rawValue)
        case .dbus(let name): (way, target, bus) = ("dbus", name.name, name.bus.rawValue)
        case .socket(let path): (way, target) = ("socket", path)
        }
    }
}

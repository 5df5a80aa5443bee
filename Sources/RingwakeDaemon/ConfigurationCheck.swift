internal import ControlProtocol
internal import DaemonConfiguration
internal import DeviceServices
internal import FileSystem
internal import Glibc
internal import HandlerActivation
internal import PushGateway
internal import RingwakeCore
internal import RunLoop
internal import VoIPCertificates

/// `ringwaked --check-config`: everything that a configuration names, without starting anything.
struct ConfigurationCheck {
    /// The user of the system's service; deploy/sysusers.d makes it.
    private static let serviceUser = "ringwake"

    /// What the command line needs, with every problem.
    let message: ConfigurationMessage
    /// Everything that is wrong, except what certificates will be soon.
    let failures: [RingwakeError]

    /// - Parameter user: the user to check as; nil: for the system's configuration, the service's user if this is root.
    /// - Throws: what makes the file unreadable as a whole.
    init(_ file: String, defaults: StandardPaths, user: String?) throws(RingwakeError) {
        let service = geteuid() == 0 && file == defaults.configurationFile ? getpwnam(Self.serviceUser) : nil
        let isService =
            service.map { user == nil || user == Self.serviceUser || user == "\($0.pointee.pw_uid)" } ?? false
        // The service has root's paths, but not root's defaults for handlers.
        let defaults =
            isService
            ? StandardPaths(isRoot: true, environment: processEnvironment(), service: .system) : defaults
        let user = user ?? (isService ? Self.serviceUser : nil)
        if let user { try CheckUser.become(user) }
        do throws(RingwakeError) {
            var configuration = try Configuration.load(file: file, defaults: defaults)
            configuration.checkNames()
            try self.init(&configuration, as: user)
        } catch {
            throw ConfigurationCheck.error(error, as: user)
        }
    }

    /// What a backup of the configuration has to have too.
    private static func namedFiles(of configuration: Configuration) -> [ConfigurationMessage.NamedFile] {
        let server = configuration.server.map { [$0.certificateFile] + $0.providerCAFiles } ?? []
        let sounds = [configuration.ring.ringtone] + configuration.apps.values.map(\.ringtone)
        let teams = configuration.teams.flatMap { team in [team.webhookCAFile] + team.keys.map(\.file) }
        let secrets = [configuration.server?.keyFile] + configuration.teams.map(\.webhookSecretFile)
        let senders = [configuration.senders.authoritiesFile]
        let open = Set(server + (sounds + teams + senders).compactMap(\.self))
        let closed = Set(secrets.compactMap(\.self))
        return open.subtracting(closed).sorted().map { .init(path: $0, isSecret: false) }
            + closed.sorted().map { .init(path: $0, isSecret: true) }
    }

    private static func error(_ error: RingwakeError, as user: String?) -> RingwakeError {
        guard let user, geteuid() != 0 else { return error }
        return RingwakeError(error.code, error.message + " (checked as the user \(user))")
    }

    private init(_ configuration: inout Configuration, as user: String?) throws(RingwakeError) {
        var failures: [RingwakeError] = []
        var credentials: Credentials?
        do throws(RingwakeError) {
            credentials = try Credentials(&configuration)
        } catch {
            failures.append(error)
        }
        var message = try ConfigurationMessage(configuration, credentials?.gateway ?? .init(teams: []))
        message.startFailure = failures.first?.message
        failures += configuration.setAside.map { RingwakeError(.badConfiguration, $0.why) }
        var inventory = CredentialInventory(configuration)
        message.problems = inventory.problems(of: configuration)
        // What keeps the daemon from starting would be said twice.
        let unusable = failures.isEmpty ? message.problems.filter { $0.severity == .error } : []
        failures += unusable.map { RingwakeError(.badConfiguration, "\($0.file): \($0.sentence)") }
        for app in configuration.apps.values.sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
            var handler = ConfigurationMessage.Handler(app)
            do throws(RingwakeError) {
                try app.way?.check(of: app.id)
            } catch {
                handler.problem = error.message
                // The message already names the app's file.
                failures.append(RingwakeError(.badConfiguration, error.message))
            }
            message.handlers.append(handler)
        }
        message.namedFiles = ConfigurationCheck.namedFiles(of: configuration)
        let ring = RingCheck(configuration)
        message.dependencies = ConfigurationCheck.dependencies(of: configuration, ring)
        // A device that rings in silence is a fault of its set-up, not of this file.
        failures += ring.dependencies.filter { !$0.path.isEmpty }.compactMap(\.fault).map {
            RingwakeError(.badConfiguration, "\(configuration.file): \($0)")
        }
        message.user = geteuid()
        message.failures = failures.map(\.message)
        self.message = message
        self.failures = failures.map { ConfigurationCheck.error($0, as: user) }
    }

    private typealias Dependency = ConfigurationMessage.Dependency

    private static func dependencies(of configuration: Configuration, _ ring: RingCheck) -> [Dependency] {
        var dependencies = ring.dependencies
        switch AudioEngineWay(configuration) {
        case .program(let path, journal: _):
            dependencies.append(.init(name: "audio.program", path: path, problem: RingCheck.problem(ofProgram: path)))
        case .socket(let path):
            dependencies.append(.init(name: "audio.socket", path: path, problem: problem(ofSocket: path)))
        case nil: break
        }
        let state = configuration.stateDirectory
        dependencies.append(.init(name: "state_directory", path: state, problem: problem(ofDirectory: state)))
        return dependencies
    }

    private static func problem(ofSocket path: String) -> String? {
        guard FileSystem.exists(path) else {
            return "there is no socket; start ringwake-audio as the audio server's user"
        }
        return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? nil : AudioEndpoint.refused
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

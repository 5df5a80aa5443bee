internal import ControlProtocol
internal import DaemonConfiguration
internal import DeviceServices
internal import FileSystem
internal import Glibc
internal import HandlerActivation
internal import RingwakeCore

/// `ringwaked --check-config`: reads all that the start reads, as the user that the daemon runs as, and looks for the
/// programs that are named.
struct ConfigurationCheck {
    /// The user of the system's service; deploy/sysusers.d makes it.
    private static let serviceUser = "ringwake"

    let file: String
    let defaults: StandardPaths
    /// The user to check as; nil: for the system's configuration, the service's user if this is root.
    let user: String?
    let wantsJSON: Bool

    /// What was found.
    struct Result {
        /// For standard output.
        let text: String
        /// One line for each file or program that is wrong.
        let failures: [String]
    }

    func run() throws(RingwakeError) -> Result {
        let isService = geteuid() == 0 && file == defaults.configurationFile && getpwnam(Self.serviceUser) != nil
        let environment = processEnvironment()
        let defaults =
            isService && user == nil
            ? StandardPaths(isRoot: true, environment: environment, service: .system) : defaults
        let user = try becomeUser(isService)
        do throws(RingwakeError) {
            return try check(defaults)
        } catch {
            guard let user else { throw error }
            throw RingwakeError(error.code, error.message + " (checked as the user \(user); --as chooses another)")
        }
    }

    private func check(_ defaults: StandardPaths) throws(RingwakeError) -> Result {
        var configuration = try Configuration.load(file: file, defaults: defaults)
        configuration.checkNames()
        let credentials = try Credentials(&configuration)
        let failures =
            configuration.setAside.map(\.why) + configuration.unusableHandlers() + configuration.missingPrograms()
        if wantsJSON {
            let message = try ConfigurationMessage(configuration, credentials.gateway, failures: failures)
            return Result(text: String(decoding: controlLine(message), as: UTF8.self), failures: failures)
        }
        let counts = [(configuration.listeners.count, "listener"), (configuration.apps.count, "app")]
        let text = counts.map { $0 == 1 ? "1 \($1)" : "\($0) \($1)s" }.joined(separator: ", ")
        return Result(text: failures.isEmpty ? "\(file) is good: \(text)\n" : "", failures: failures)
    }

    /// A file that root can read may be unreadable for the daemon. Returns the user, if it isn't the caller.
    private func becomeUser(_ isService: Bool) throws(RingwakeError) -> String? {
        guard let name = user ?? (isService ? Self.serviceUser : nil) else { return nil }
        guard let entry = getpwnam(name) else { throw RingwakeError(.notFound, "there is no user '\(name)'") }
        let (uid, gid) = (entry.pointee.pw_uid, entry.pointee.pw_gid)
        guard uid != geteuid() else { return nil }
        guard initgroups(name, gid) == 0, setgid(gid) == 0, setuid(uid) == 0 else {
            throw RingwakeError(
                .notPermitted, "this process cannot become the user '\(name)': \(String(cString: strerror(errno)))")
        }
        return name
    }
}

extension Configuration {
    /// What keeps handlers from starting, a line each.
    fileprivate func unusableHandlers() -> [String] {
        apps.values.sorted { $0.id.rawValue < $1.id.rawValue }.compactMap { app in
            do throws(RingwakeError) {
                try app.way?.check(of: app.id)
                return nil
            } catch {
                return error.message
            }
        }
    }

    /// The programs of `[ring]` that can't be started, a line each. The device would ring silently.
    func missingPrograms() -> [String] {
        [("command", ring.command), ("vibrate", ring.vibrate), ("waiting", ring.waiting)].compactMap { key, command in
            guard let program = command?.first, !FileSystem.isExecutableFile(program) else { return nil }
            return "\(file): 'ring.\(key)': \(program) is not a program that this user may run; install it, or "
                + "name another"
        }
    }
}

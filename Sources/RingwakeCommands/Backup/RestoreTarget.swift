import ControlProtocol
import FileSystem
import Glibc
import RingwakeCore
import RunLoop

/// The daemon that a backup is restored to, as it is before.
struct RestoreTarget {
    /// How long a daemon may take until it answers again: a merge adds all its records in the start.
    private static let restartTimeout = Duration.seconds(120)
    private static let pollMilliseconds: Int32 = 50

    /// The path of its configuration, which need not exist.
    let file: String
    /// The folder of its configuration.
    var home: String { FileSystem.split(file).directory }
    /// The configuration; nil if there is none, or a wrong one.
    let configuration: ConfigurationMessage?
    private let source: StoreSource?
    /// Whether a daemon runs.
    var isRunning: Bool { source?.isRunning ?? false }

    init(
        _ control: ControlOptions, _ idle: IdleDaemonOptions, in context: CommandContext
    ) throws(RingwakeError) {
        let standard = idle.config ?? StandardDirectory.configuration(in: context) + "/ringwaked.toml"
        var (path, found): (String, StoreSource?) = (standard, nil)
        do throws(RingwakeError) {
            let source = try StoreSource(control, idle, in: context)
            (path, found) = (try source.file(), source)
        } catch {
            // A restore is what helps then.
            guard error.code == .badConfiguration || error.code == .notFound else { throw error }
        }
        file = InputFile.absolute(path)
        source = found
        configuration = FileSystem.exists(file) ? try DaemonProgram().inspect(file).0 : nil
    }

    /// The state directory that a configuration names, as the running daemon has it.
    func stateDirectory(_ directory: String) throws(RingwakeError) -> String {
        guard let source, let configuration, directory == configuration.stateDirectory else { return directory }
        return try source.stateDirectory(of: configuration)
    }

    /// - Throws: `conflict` while there are calls: a restore would end them.
    func requireNoCalls() throws(RingwakeError) {
        guard let source, source.isRunning else { return }
        let status: StatusMessage = try source.client.get(RequestTarget("status"))
        guard status.activeCalls == 0 else {
            throw RingwakeError(
                .conflict, "a restore would end the calls in progress (\(status.activeCalls)); try again after them")
        }
    }

    /// Has a running daemon start again, and waits until it answers.
    func restart() throws(RingwakeError) {
        guard let source, source.isRunning else { return }
        let asked = BootClock.now()
        let _: StatusMessage = try source.client.post(RequestTarget("restart"))
        let deadline = Deadline(after: Self.restartTimeout)
        while !deadline.hasPassed {
            poll(nil, 0, Self.pollMilliseconds)
            guard let now: StatusMessage = try? source.client.get(RequestTarget("status")) else { continue }
            // Not the one that was asked, which runs for longer.
            if .milliseconds(now.uptimeMs) < asked.duration(to: BootClock.now()) { return }
        }
        throw RingwakeError(
            .timedOut, "everything is ready, but the daemon does not answer again; look into its log, and start it")
    }

    /// What `ringwaked --check-config` says of the configuration as it is now.
    struct Check {
        /// Why the daemon would not start; nil if it would.
        var startFailure: String?
        /// All that is wrong.
        var failures: [String] = []
        var apps: [String] = []
    }

    /// - Parameter owner: the daemon's user, for whom root checks.
    func check(as owner: FileAttributes) -> Check {
        guard FileSystem.exists(file) else { return Check(startFailure: "there is no \(file)") }
        do throws(RingwakeError) {
            let user = geteuid() == 0 ? "\(owner.owner)" : nil
            let (message, error) = try DaemonProgram().inspect(file, user: user)
            guard let message else { return Check(startFailure: error?.message, failures: [error?.message ?? ""]) }
            return Check(startFailure: message.startFailure, failures: message.failures, apps: message.apps)
        } catch {
            return Check(startFailure: error.message, failures: [error.message])
        }
    }
}

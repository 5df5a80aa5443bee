internal import DaemonConfiguration
internal import CRingwakeLinux
internal import ControlProtocol
internal import Glibc
internal import HandlerActivation
internal import LogOutput
internal import Logging
internal import NetworkMessages
internal import RingwakeCore
internal import RunLoop
internal import ServiceManager

/// The command line of `ringwaked`.
struct DaemonCommand: Equatable {
    /// The configuration file; nil for the standard one.
    var configurationFile: String?
    /// Only check the configuration.
    var isCheck = false
    /// With ``isCheck``: print the configuration as JSON.
    var wantsJSON = false
    /// With ``isCheck``: the user to check as.
    var user: String?
    /// Only look at the store, or migrate it.
    var store: StoreTask?
    /// With ``store``: another store, or another state directory.
    var storeFile: String?
    /// Stop when standard input ends.
    var stopsWithInput = false

    static let help = """
        ringwaked takes VoIP pushes, wakes call handlers and keeps the state of their calls.

        EXAMPLES
          ringwaked --check-config
          ringwaked --config ./ringwaked.toml

        OPTIONS
          --config FILE    the configuration; default /etc/ringwake/ringwaked.toml for root,
                           $XDG_CONFIG_HOME/ringwake/ringwaked.toml for a user
          --check-config   check the configuration and every file that it names, and exit;
                           root checks the system's as the user of the service, ringwake
          --json           with --check-config: print what it has as one JSON object
          --as USER        with --check-config, for root: check as this user
          --store TASK     work on the store while no daemon runs, and print JSON lines: status, plan (what a
                           migration does), migrate, export (records on standard output), import (records from
                           standard input), copy, restore; 'ringwake store' and 'ringwake backup' do it for people
          --file FILE      with --store export: a copy of a store, also while a daemon runs; with --store restore: the
                   state directory
          --stop-at-eof    stop when standard input ends, so that it never outlives its parent
          --version        show the version
          --help           show this

        It runs in the foreground and logs to standard error. SIGHUP reloads the configuration, SIGTERM stops it.
        Exit status: 0 stopped as asked, 1 failed, 2 wrong usage, 5 no configuration file, 9 bad configuration,
        75 systemd is to start it again, after a restore.

        """

    /// What the arguments request.
    enum Parsed: Equatable {
        case run(DaemonCommand)
        /// Print this text and exit 0.
        case show(String)
        /// Print this text to standard error and exit 2.
        case wrongUsage(String)
    }

    /// Parsed by hand: nine options don't need a library, and the one that `ringwake` uses can't run on the main actor.
    static func parse(_ arguments: [String]) -> Parsed {
        var command = DaemonCommand()
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": return .show(help)
            case "--version": return .show(ProductVersion.current + "\n")
            case "--check-config": command.isCheck = true
            case "--json": command.wantsJSON = true
            case "--stop-at-eof": command.stopsWithInput = true
            case "--store":
                guard let task = rest.popFirst().flatMap(StoreTask.init) else {
                    let tasks = StoreTask.allCases.map(\.rawValue).joined(separator: ", ")
                    return .wrongUsage("--store needs one of \(tasks)")
                }
                command.store = task
            case "--file":
                guard let file = rest.popFirst(), !file.isEmpty else { return .wrongUsage("--file needs a file") }
                command.storeFile = file
            case "--as":
                guard let user = rest.popFirst(), !user.isEmpty else { return .wrongUsage("--as needs a user") }
                command.user = user
            case "--config":
                guard let file = rest.popFirst(), !file.isEmpty else {
                    return .wrongUsage("--config needs a file")
                }
                command.configurationFile = file
            case _ where argument.hasPrefix("--config="):
                command.configurationFile = String(argument.dropFirst("--config=".count))
            default:
                return .wrongUsage("'\(argument)' is not an option; 'ringwaked --help' lists them")
            }
        }
        guard command.isCheck || !command.wantsJSON else { return .wrongUsage("--json goes with --check-config") }
        guard command.store == nil || !command.isCheck else {
            return .wrongUsage("--store and --check-config do not go together")
        }
        guard command.storeFile == nil || command.store == .export || command.store == .restore else {
            return .wrongUsage("--file goes with --store export and --store restore")
        }
        guard command.isCheck || command.user == nil else { return .wrongUsage("--as goes with --check-config") }
        return .run(command)
    }
}

/// Runs `ringwaked` with the process's arguments and returns its exit status.
package func runDaemon() -> Int32 {
    occupyStandardDescriptors()
    switch DaemonCommand.parse(Array(CommandLine.arguments.dropFirst())) {
    case .show(let text):
        try? StandardStream.output.write(text)
        return 0
    case .wrongUsage(let problem):
        try? StandardStream.error.write("ringwaked: \(problem)\n")
        return RingwakeError.Code.invalidRequest.exitStatus
    case .run(let command):
        do throws(RingwakeError) {
            try run(command)
            return 0
        } catch {
            complain(error.message)
            return error.code.exitStatus
        }
    }
}

private func complain(_ problem: String) {
    try? StandardStream.error.write("ringwaked: \(withoutControlCharacters(problem))\n")
}

/// `--check-config`: prints all that is wrong.
private func check(_ command: DaemonCommand, _ file: String, _ defaults: StandardPaths) throws(RingwakeError) {
    let check = try ConfigurationCheck(file, defaults: defaults, user: command.user)
    if command.wantsJSON {
        try? StandardStream.output.write(controlLine(check.message))
    } else {
        for problem in check.message.problems where problem.severity == .warning {
            complain("warning: \(problem.file): \(problem.sentence)")
        }
        check.failures.dropLast().forEach { complain($0.message) }
    }
    if let last = check.failures.last { throw last }
    guard !command.wantsJSON else { return }
    let counts = [(check.message.listeners.count, "listener"), (check.message.apps.count, "app")]
    let text = counts.map { $0 == 1 ? "1 \($1)" : "\($0) \($1)s" }.joined(separator: ", ")
    try? StandardStream.output.write("\(file) is good: \(text)\n")
}

private func run(_ command: DaemonCommand) throws(RingwakeError) {
    let defaults = StandardPaths(isRoot: geteuid() == 0, environment: processEnvironment())
    let file = absolute(command.configurationFile ?? defaults.configurationFile)
    if command.isCheck { return try check(command, file, defaults) }
    if let task = command.store {
        return try StoreWork(task, file: file, defaults: defaults, other: command.storeFile).run()
    }
    let configuration = try Configuration.load(file: file, defaults: defaults)
    let log = StandardErrorLog(level: configuration.logLevel, environment: processEnvironment())
    let daemon = try Daemon(
        configuration, defaults: defaults, passed: PassedSockets(try PassedSocket.takeAll(), of: configuration.role),
        facilities: FacilityMessage.probe(), logger: Logger(label: "ringwaked") { _ in log })
    if command.stopsWithInput { try daemon.stopAtEndOfInput() }
    daemon.run()
    if daemon.restarts { throw Restart.run(passed: daemon.passed) }
}

/// Opens /dev/null for missing standard streams. Otherwise a socket or file of the daemon would become descriptor 0, 1
/// or 2, and would receive log lines or be passed to handlers.
private func occupyStandardDescriptors() {
    while true {
        let descriptor = open("/dev/null", O_RDWR | O_CLOEXEC)
        if descriptor < 0 { return }
        if descriptor > STDERR_FILENO {
            close(descriptor)
            return
        }
    }
}

private func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
    defer { free(directory) }
    return String(cString: directory) + "/" + path
}

import ArgumentParser
import FileSystem
import RingwakeCore

/// How to wake an app: the settings in `[wake]` of its file.
struct AppWakeOptions: ParsableArguments {
    @Option(help: .of("path", "Start this program for a push: an absolute path."), completion: .file())
    var exec: String?

    @Option(
        name: .customLong("arg"), parsing: .unconditionalSingleValue,
        help: .of("argument", "An argument for the program; may be repeated."))
    var arguments: [String] = []

    @Argument(parsing: .postTerminator, help: .of("args", "More arguments for the program, after --."))
    var remaining: [String] = []

    @Option(
        help: .of(
            "way",
            "Who starts the program. exec: the daemon; unit: systemd, in a separate unit (default: [wake] way)."))
    var way: HandlerStarter?

    @Option(help: .of("name", "Start this systemd service for a push, such as phone@.service."))
    var unit: String?

    @Option(help: .of("of", "The systemd manager of the units: user or system (default: [wake] manager)."))
    var manager: SystemdManager?

    @Option(help: .of("name", "Activate this bus name for a push; it needs org.ringwake.Handler1."))

    var dbus: String?

    @Option(help: .of("object", "The path of the object at the bus name (default: made from the name)."))
    var path: String?

    @Option(help: .of("bus", "The bus of the bus name (default: system for the system's daemon, else session)."))
    var bus: MessageBus?

    @Option(help: .of("path", "Write a push to this socket, where a handler listens: an absolute path."))
    var handlerSocket: String?

    @Flag(help: "Start nothing: only handlers that keep a connection open get pushes.")
    var connected = false

    @Option(help: .of("of", "How many handlers run at a time: one for the app, or one for each call."))
    var instances = HandlerInstances.app

    func validate() throws {
        let ways = [exec != nil, unit != nil, dbus != nil, handlerSocket != nil, connected].count { $0 }
        try require(
            ways == 1, "Give exactly one of --exec, --unit, --dbus, --handler-socket and --connected.")
        try require(
            exec != nil || (arguments.isEmpty && remaining.isEmpty && way == nil),
            "--arg, --way and arguments after -- belong to --exec.")
        try require(exec != nil || unit != nil || manager == nil, "--manager belongs to --unit and --exec.")
        try require(dbus != nil || (path == nil && bus == nil), "--path and --bus belong to --dbus.")
        for (option, path) in [("--path", path), ("--handler-socket", handlerSocket)] {
            try require(path?.hasPrefix("/") != false, "\(option) takes an absolute path, which begins with a slash.")
        }
    }

    /// The lines of `[wake]`, without defaults.
    var lines: [String] {
        var lines: [String] = []
        let add = { (key: String, value: String?) in
            if let value { lines.append("\(key) = \(AppFile.tomlString(value))") }
        }
        if let exec {
            let words = ([exec] + arguments + remaining).map(AppFile.tomlString)
            lines.append("exec = [\(words.joined(separator: ", "))]")
        }
        add("unit", unit)
        add("dbus", dbus)
        add("path", path)
        add("bus", bus?.rawValue)
        add("socket", handlerSocket)
        if connected { lines.append("connected = true") }
        add("way", way?.rawValue)
        add("manager", manager?.rawValue)
        add("instances", instances == .app ? nil : instances.rawValue)
        return lines
    }

    /// Checks that the program exists and is executable: most mistakes are made here.
    func checkProgram(isForced: Bool) throws(RingwakeError) {
        guard let exec else { return }
        try AppWakeOptions.check(program: exec, isForced: isForced)
    }

    static func check(program exec: String, isForced: Bool) throws(RingwakeError) {
        guard exec.hasPrefix("/") else {
            throw RingwakeError(
                .invalidRequest,
                "'\(exec)' is not an absolute path; the daemon has another working directory and does not search "
                    + "PATH. Give the whole path")
        }
        guard !isForced else { return }
        do throws(FileSystemError) {
            _ = try FileSystem.attributes(of: exec)
        } catch {
            throw error.isMissing
                ? RingwakeError(
                    .notFound, "there is no program '\(exec)'; check the path, or add the app anyway with --force")
                : RingwakeError(
                    error.isDenied ? .notPermitted : .system,
                    "the program '\(exec)' cannot be examined: \(error.reason); run this as root, or add the app anyway "
                        + "with --force")
        }
        guard FileSystem.isExecutableFile(exec) else {
            throw RingwakeError(
                .invalidRequest,
                "'\(exec)' is not an executable file; run 'chmod +x' on it, or add the app anyway with --force")
        }
    }
}

/// Rules for an app's calls: the settings in `[calls]` and `[restrictions]` of its file.
struct AppRuleOptions: ParsableArguments {
    @Option(help: .of("who", "Who rings: the app itself, or the daemon (default: app)."))
    var ringer: CallRinger?

    @Option(
        help: .of(
            "what", "What happens to a call if its handler fails: missed, or the daemon rings (default: missed)."))
    var fallback: CallFallback?

    @Option(
        help: .of("what", "What happens to a call during another: ring or reject (default: ring)."))
    var whenBusy: BusyPolicy?

    @Option(help: .of("number", "Its level from 0 to 21, similar to a content rating."))
    var level: Int?

    func validate() throws {
        try require("--level", level, in: ScreenedCall.levels)
    }

    /// The tables for the given options, each after an empty line.
    var lines: [String] {
        let words = [("ringer", ringer?.rawValue), ("fallback", fallback?.rawValue), ("when_busy", whenBusy?.rawValue)]
        let calls = words.compactMap { key, word in word.map { "\(key) = \(AppFile.tomlString($0))" } }
        var lines = calls.isEmpty ? [] : ["", "[calls]"] + calls
        if let level { lines += ["", "[restrictions]", "level = \(level)"] }
        return lines
    }
}

extension HandlerStarter: ExpressibleByArgument {}
extension SystemdManager: ExpressibleByArgument {}
extension MessageBus: ExpressibleByArgument {}
extension HandlerInstances: ExpressibleByArgument {}
extension CallRinger: ExpressibleByArgument {}
extension CallFallback: ExpressibleByArgument {}
extension BusyPolicy: ExpressibleByArgument {}

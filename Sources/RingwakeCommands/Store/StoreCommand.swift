import ArgumentParser
import ControlProtocol
import FileSystem
import FoundationEssentials
import Glibc
import RingwakeCore

/// `ringwake store`
struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "store", "Show the daemon's store, and migrate it.",
        examples: """
            ringwake store status
            ringwake store migrate --dry-run
            """,
        subcommands: [StoreStatusCommand.self, StoreMigrateCommand.self])
}

/// `ringwake store status`
struct StoreStatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "status", "Show what the store is and holds.",
        examples: """
            ringwake store status
            ringwake store status --json | jq .rows
            """,
        details: """
            The store is the file store.db in the state directory: pushes, calls, lists of
            callers, do not disturb, what apps keep, and on a gateway the linked devices.
            Without a running daemon the file itself is read.
            """)

    @OptionGroup var idle: IdleDaemonOptions
    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let store = try StoreSource(control, idle, in: context).status(in: context)
        return try show(store, StoreText.status(store), in: context)
    }
}

/// `ringwake store migrate`
struct StoreMigrateCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "migrate", "Migrate the store of an older version.",
        examples: """
            ringwake store migrate --dry-run
            systemctl stop ringwaked && ringwake store migrate
            """,
        details: """
            The daemon migrates its store by itself when it starts. Run this to do it
            before, or with --dry-run to see what it does, how long it takes and how much
            room it needs. The former store is kept until the new one has been opened: a
            crash at any moment leaves the one or the other, whole. While a daemon runs,
            there is nothing to do: it has migrated its store.
            """)

    @Flag(help: "Show what would be done, and change nothing.")
    var dryRun = false

    @OptionGroup var idle: IdleDaemonOptions
    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let source = try StoreSource(control, idle, in: context)
        if source.isRunning {
            let store = try source.status(in: context)
            return try show(store, StoreText.plan(store), in: context)
        }
        guard !dryRun else {
            let plan = try source.ask("plan", in: context)
            return try show(plan, StoreText.plan(plan), in: context)
        }
        let before = try source.ask("status", in: context)
        let store = try source.ask("migrate", in: context)
        return try show(store, StoreText.migrated(store, from: before.version), in: context)
    }
}

/// The option of commands that also work while no daemon runs.
struct IdleDaemonOptions: ParsableArguments {
    @Option(
        help: .of("file", "The daemon's configuration, which also says where it listens (default: the standard one)."),
        completion: .file())
    var config: String?
}

/// Where the store is: with a running daemon, or in its state directory.
struct StoreSource {
    let client: ControlClient
    /// The configuration that was named, or the standard one.
    let named: String
    /// What a running daemon says of itself; nil without one.
    private let told: StatusMessage?
    /// Whether a daemon runs.
    var isRunning: Bool { told != nil }

    init(
        _ control: ControlOptions, _ idle: IdleDaemonOptions, in context: CommandContext
    ) throws(RingwakeError) {
        if let config = idle.config {
            named = config
            client =
                control.socket == nil
                ? ControlClient(path: try DaemonProgram().configuration(config).controlSocket, secret: nil)
                : control.client(in: context)
        } else {
            named = StandardDirectory.configuration(in: context) + "/ringwaked.toml"
            client = control.client(in: context)
        }
        do throws(RingwakeError) {
            told = try client.get(RequestTarget("status"))
        } catch {
            guard error.code == .daemonNotRunning, control.socket == nil else { throw error }
            told = nil
        }
    }

    /// The daemon's configuration. Root takes its place from nobody else: the daemon's user would choose what root reads and
    /// writes.
    ///
    /// - Throws: `conflict` if another user's daemon has another one than root names.
    func file() throws(RingwakeError) -> String {
        guard let told else { return named }
        guard geteuid() == 0, InputFile.absolute(told.configuration) != InputFile.absolute(named),
            !Self.isRoots(told)
        else { return told.configuration }
        throw RingwakeError(
            .conflict,
            "the daemon says that its configuration is \(told.configuration), and root would use \(named); name the right one "
                + "with --config, or run this as the daemon's user")
    }

    /// Whether root itself runs a daemon with this configuration: then its place is root's choice. What a daemon says of itself
    /// proves nothing, and neither does who listens on its socket, which may be systemd.
    private static func isRoots(_ told: StatusMessage) -> Bool {
        let process = "/proc/\(told.pid)"
        guard FileLook.owner(process) == 0,
            let line = try? FileSystem.read("\(process)/cmdline", maximumSize: 1 << 16),
            let folder = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(process)/cwd")
        else { return false }
        let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        guard let option = words.firstIndex(of: "--config"), words.indices.contains(option + 1) else { return false }
        let file = words[option + 1]
        return InputFile.absolute(file.hasPrefix("/") ? file : "\(folder)/\(file)") == told.configuration
    }

    /// The daemon's state directory. A daemon of another user has another standard than this user.
    ///
    /// - Throws: `conflict` if root would use another one than the daemon.
    func stateDirectory(of configuration: ConfigurationMessage) throws(RingwakeError) -> String {
        guard let told, told.stateDirectory != configuration.stateDirectory else { return configuration.stateDirectory }
        guard geteuid() == 0 else { return told.stateDirectory }
        throw RingwakeError(
            .conflict,
            "the daemon says that its state directory is \(told.stateDirectory), and root would use "
                + "\(configuration.stateDirectory); run this as the daemon's user")
    }

    func status(in context: CommandContext) throws(RingwakeError) -> StoreMessage {
        isRunning ? try client.get(RequestTarget("store")) : try ask("status", in: context)
    }

    /// Has `ringwaked` do it, while no daemon runs.
    func ask(_ task: String, in context: CommandContext) throws(RingwakeError) -> StoreMessage {
        let progress = WorkProgress("store", on: context.errors)
        defer { progress.end() }
        var version: Int64?
        return try DaemonProgram().store(task, configuration: file()) { report in
            if version != report.version {
                version = report.version
                progress.begin("migrating to version \(report.version)", of: report.allRows, unit: .rows)
            }
            progress.advance(to: report.rows)
        }
    }
}

/// The text of the commands.
enum StoreText {
    /// Tables that tell a person nothing.
    static let bookkeeping = ["boot", "epoch", "list_remains", "list_stamp"]

    static func status(_ store: StoreMessage) -> String {
        let versions =
            store.version == store.currentVersion
            ? "\(store.version)" : "\(store.version); this program writes \(store.currentVersion)"
        let free = store.freeBytes.map { ", \(size($0)) free on the disk" } ?? ""
        var table = TextTable([.left, .left])
        table.add(["store", store.file])
        table.add(["version", versions])
        table.add(["size", "\(size(store.bytes)), \(size(store.unusedBytes)) of it unused\(free)"])
        for (name, count) in store.rows.sorted(by: { $0.key < $1.key }) where count > 0 && !bookkeeping.contains(name) {
            table.add([name, "\(count)"])
        }
        return lines(table.lines())
    }

    static func plan(_ store: StoreMessage) -> String {
        guard let migration = store.migration else {
            return lines(["\(store.file) has version \(store.version), the present one: there is nothing to migrate"])
        }
        var text: [String] = []
        for step in migration.steps {
            text.append("version \(step.from) to \(step.to):")
            text += step.changes.isEmpty ? ["  nothing changes"] : step.changes.map { "  \($0)" }
        }
        let rows = store.rows.values.reduce(0, +)
        let time = DurationText.long(milliseconds: Int64(exactly: (migration.seconds * 1_000).rounded(.up)) ?? .max)
        text.append("\(rows) rows, about \(time)")
        let room = "needs \(size(migration.neededBytes)) beside the store"
        text.append(room + (store.freeBytes.map { ", and \(size($0)) are free" } ?? ""))
        return lines(text)
    }

    static func migrated(_ store: StoreMessage, from version: Int64) -> String {
        let what =
            version == store.version
            ? "\(store.file) has version \(version), the present one: there was nothing to migrate"
            : "\(store.file) was migrated from version \(version) to \(store.version)"
        return lines([what] + (store.damage ?? []))
    }

    private static func lines(_ lines: [String]) -> String {
        lines.map { TerminalText.printable($0) + "\n" }.joined()
    }

    static func size(_ bytes: Int64) -> String {
        bytes < 10 << 20 ? "\((bytes + 1_023) >> 10) KiB" : "\((bytes + (1 << 20) - 1) >> 20) MiB"
    }
}

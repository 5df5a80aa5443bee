import ArgumentParser
import ControlProtocol
import Glibc
import Reachability
import RingwakeCore

/// `ringwake reachability`
struct ReachabilityCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "reachability", "Show which targets are reachable, and how; with or without a daemon.",
        examples: """
            ringwake reachability
            ringwake reachability sip.example.org 192.0.2.1 2001:db8::1
            ringwake reachability 192.0.2.7,198.51.100.1
            ringwake reachability sip.example.org --watch --json
            ringwake reachability --path
            """,
        details: """
            A target is 'any' (the default), an address, two addresses as LOCAL,REMOTE, or
            a host name. The result comes from the kernel's tables; the command sends no
            packet except to look up names. Exit status: 0 if all targets can be reached, 8
            if one cannot. With --watch, prints a line for each target, then one for each
            change.

            Asks the daemon if one runs in this network namespace. Otherwise reads the
            kernel's tables itself, without the daemon's configuration of interfaces.
            """)

    @Argument(help: .of("target", "any, an address, LOCAL,REMOTE, or a host name."), completion: .targets)
    var targets: [String] = []

    @Flag(help: "Keep running, and print a line for each change.")
    var watch = false

    @Flag(help: "Show the network path instead of a target.")
    var path = false

    @Flag(help: "Do not ask the daemon.")
    var local = false

    @Option(
        help: .of("duration", "With --local: how long a loss has to last before it is reported (default: 200ms)."),
        transform: DurationArgument.init(parsing:))
    var lossHold: DurationArgument?

    @Option(
        help: .of(
            "level", "With --local: how many irrelevant messages the kernel drops, 0 to 4 (default: 4)."))
    var filterLevel: Int?

    @Flag(help: "Print the state of the network monitor to standard error.")
    var verbose = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        for text in targets where ReachabilityTarget(text) == nil {
            throw ValidationError(
                "'\(text)' is not a target; give 'any', an address, LOCAL,REMOTE (two addresses of one family), or a "
                    + "host name, without scheme and port.")
        }
        try require(!path || targets.isEmpty, "--path shows the whole network; give no target.")
        let most = local ? NetworkMonitor.maximumTargets : ControlAPI.maximumTargets
        let more = local ? "" : "; with --local \(NetworkMonitor.maximumTargets)"
        try require(targets.count <= most, "Give at most \(most) targets\(more).")
        try require(
            local || (lossHold == nil && filterLevel == nil),
            "--loss-hold and --filter-level need --local: the daemon has its own in its configuration.")
        try require("--filter-level", filterLevel, in: ReachabilityConfiguration.filterLevels)
        let longest = ReachabilityConfiguration.longestLossHold
        try require(
            (lossHold?.duration ?? .zero) <= longest, "Give a --loss-hold from 0 to \(longest.components.seconds)s.")
        try require(!local || control.socket == nil, "--local does not use a daemon; give no --socket.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let printer = ReachabilityPrinter(context: context, wantsJSON: wantsJSON, isVerbose: verbose)
        if watch, context.output.descriptor != nil {
            // A watch ends only by a signal. Lines are written whole, so it can exit at any point.
            signal(SIGINT) { _ in _exit(0) }
            signal(SIGTERM) { _ in _exit(0) }
        }
        if !local {
            let remote = RemoteNetwork(client: control.client(in: context))
            do throws(RingwakeError) {
                try show(remote, printer)
                return printer.status(isWatching: watch)
            } catch {
                // Read the kernel's tables only if no daemon runs, the user named no socket, and nothing was printed
                // yet.
                guard error.code == .daemonNotRunning, control.socket == nil, !printer.hasPrinted else { throw error }
                if remote.isElsewhere {
                    context.errors.write(
                        "ringwake: the daemon is in another network namespace; this is read here, without it\n")
                }
            }
        }
        var configuration = ReachabilityConfiguration()
        if let lossHold { configuration.lossHold = lossHold.duration }
        if let filterLevel { configuration.filterLevel = filterLevel }
        try show(try LocalNetwork(configuration), printer)
        return printer.status(isWatching: watch)
    }

    /// The given targets in order, without duplicates.
    private var asked: [ReachabilityTarget] {
        var asked: [ReachabilityTarget] = []
        for target in targets.compactMap({ ReachabilityTarget($0) }) where !asked.contains(target) {
            asked.append(target)
        }
        return asked.isEmpty ? [.any] : asked
    }

    private func show(_ network: some NetworkView, _ printer: ReachabilityPrinter) throws(RingwakeError) {
        switch (path, watch) {
        case (true, false): try network.showPath(printer)
        case (true, true): try network.watchPath(printer)
        case (false, false): try network.show(asked, printer)
        case (false, true): try network.watch(asked, printer)
        }
    }
}

/// The source of the results: the daemon, or the kernel itself.
protocol NetworkView {
    func show(_ targets: [ReachabilityTarget], _ printer: ReachabilityPrinter) throws(RingwakeError)
    /// Continues until the reader of the output leaves.
    func watch(_ targets: [ReachabilityTarget], _ printer: ReachabilityPrinter) throws(RingwakeError)
    func showPath(_ printer: ReachabilityPrinter) throws(RingwakeError)
    /// Continues until the reader of the output leaves.
    func watchPath(_ printer: ReachabilityPrinter) throws(RingwakeError)
}

/// Prints results, one line each, for people or as JSON.
final class ReachabilityPrinter {
    let output: Output
    let isVerbose: Bool
    private let context: CommandContext
    private let wantsJSON: Bool
    private var isAllReachable = true
    private var toldMonitor: String?

    /// Whether anything was printed on standard output.
    private(set) var hasPrinted = false

    init(context: CommandContext, wantsJSON: Bool, isVerbose: Bool) {
        self.context = context
        self.wantsJSON = wantsJSON
        self.isVerbose = isVerbose
        output = context.output
    }

    func print(_ target: TargetMessage) {
        if !target.reachable { isAllReachable = false }
        print(target, ReachabilityText.line(of: target, style: context.style) + "\n")
    }

    func print(_ path: PathMessage) {
        if path.status != NetworkPath.Status.satisfied.rawValue { isAllReachable = false }
        print(path, ReachabilityText.text(of: path, style: context.style))
    }

    private func print(_ message: some Encodable, _ text: @autoclosure () -> String) {
        hasPrinted = true
        output.write(bytes: wantsJSON ? controlLine(message) : Array(text().utf8))
    }

    /// Prints the monitor's state if it has changed.
    func print(_ monitor: @autoclosure () -> ReachabilityMessage) {
        guard isVerbose else { return }
        let text = ReachabilityText.line(of: monitor())
        guard text != toldMonitor else { return }
        toldMonitor = text
        context.errors.write(text + "\n")
    }

    func status(isWatching: Bool) -> ExitStatus { isWatching || isAllReachable ? .success : .unreachable }
}

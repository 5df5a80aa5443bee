import ControlProtocol
import Glibc
import NetworkMessages
import Reachability
import RingwakeCore
import RunLoop

/// Reachability as this process sees it, from the kernel's own tables.
final class LocalNetwork: NetworkView {
    /// Timeout of a host name's look-up. After it, the target is shown as still being resolved.
    static let nameTimeout = Duration.seconds(10)

    private let runLoop: RunLoop
    private let monitor: NetworkMonitor

    /// - Throws: `system`: the kernel or a sandbox refuses access.
    init(_ configuration: ReachabilityConfiguration) throws(RingwakeError) {
        do throws(RunLoopError) {
            runLoop = try RunLoop(wakingFromSuspend: false)
        } catch {
            throw RingwakeError(.system, "the run loop cannot be set up: \(error)")
        }
        do throws(ReachabilityError) {
            monitor = try NetworkMonitor(runLoop: runLoop, configuration: configuration)
        } catch {
            throw RingwakeError(.system, "the kernel's network tables cannot be read: \(error.message)")
        }
    }

    deinit {
        monitor.close()
    }

    func show(_ targets: [ReachabilityTarget], _ printer: ReachabilityPrinter) throws(RingwakeError) {
        printer.print(ReachabilityMessage(monitor.status))
        let known = Known(targets)
        let watches = try watches(of: targets) { index, reachability in known.values[index] = reachability }
        var isLate = false
        runLoop.schedule(at: BootClock.now().advanced(by: Self.nameTimeout), tolerance: .zero) { isLate = true }
        while !known.isComplete, !isLate { runLoop.runOnce(timeout: nil) }
        // What a watch was notified of may be older: a name's look-up takes a while.
        for (target, reachability) in zip(targets, monitor.current(targets)) {
            printer.print(message(target, reachability))
        }
        for watch in watches { watch.cancel() }
        printer.print(ReachabilityMessage(monitor.status))
    }

    func watch(_ targets: [ReachabilityTarget], _ printer: ReachabilityPrinter) throws(RingwakeError) {
        let known = Known(targets)
        var news: [TargetMessage] = []
        let watches = try watches(of: targets) { [unowned self] index, reachability in
            known.values[index] = reachability
            news.append(message(targets[index], reachability))
        }
        var timer: Timer? = runLoop.schedule(
            at: BootClock.now().advanced(by: Self.nameTimeout), tolerance: .zero
        ) { [unowned self] in
            for (index, target) in targets.enumerated() where known.values[index] == nil {
                news.append(message(target, nil))
            }
        }
        follow(printer) {
            for message in news { printer.print(message) }
            news = []
            // Cancel a timer that is no longer needed, so that it doesn't wake the loop up.
            if known.isComplete, let pending = timer {
                runLoop.cancel(pending)
                timer = nil
            }
        }
        withExtendedLifetime(watches) {}
    }

    func showPath(_ printer: ReachabilityPrinter) throws(RingwakeError) {
        printer.print(ReachabilityMessage(monitor.status))
        printer.print(PathMessage(monitor.path))
    }

    func watchPath(_ printer: ReachabilityPrinter) throws(RingwakeError) {
        var news: [PathMessage] = []
        let watch = monitor.watchPath { news.append(PathMessage($0)) }
        follow(printer) {
            for message in news { printer.print(message) }
            news = []
        }
        withExtendedLifetime(watch) {}
    }

    /// The reachability of each target, by index; nil if not known yet.
    private final class Known {
        var values: [TargetReachability?]
        var isComplete: Bool { !values.contains { $0 == nil } }

        init(_ targets: [ReachabilityTarget]) {
            values = Array(repeating: nil, count: targets.count)
        }
    }

    private func message(_ target: ReachabilityTarget, _ reachability: TargetReachability?) -> TargetMessage {
        TargetMessage(
            target, reachability ?? .resolving(on: monitor.path), resolvedAt: monitor.resolvedAt(target))
    }

    private func watches(
        of targets: [ReachabilityTarget], _ body: @escaping (Int, TargetReachability) -> Void
    ) throws(RingwakeError) -> [NetworkMonitor.Watch] {
        var watches: [NetworkMonitor.Watch] = []
        for (index, target) in targets.enumerated() {
            do throws(ReachabilityError) {
                watches.append(try monitor.watch(target) { body(index, $0) })
            } catch {
                throw RingwakeError(error.code == .limit ? .limitReached : .system, error.message)
            }
        }
        return watches
    }

    /// Runs the loop and prints the changes after each turn, until the reader of the output leaves.
    private func follow(_ printer: ReachabilityPrinter, _ printNews: () -> Void) {
        watchReader(printer.output)
        defer { reader?.cancel() }
        printer.print(ReachabilityMessage(monitor.status))
        while printer.output.isOpen, !hasReaderLeft {
            runLoop.runOnce(timeout: nil)
            printNews()
            printer.print(ReachabilityMessage(monitor.status))
        }
    }

    private var reader: ReadinessSource?
    private var hasReaderLeft = false

    /// Watches a pipe or a socket for a closed other end, also while there is nothing to print.
    private func watchReader(_ output: Output) {
        guard let descriptor = output.descriptor else { return }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, [S_IFIFO, S_IFSOCK].contains(facts.st_mode & S_IFMT) else { return }
        reader = try? runLoop.watch(descriptor, for: .read, cause: WakeupCause("output")) { [weak self] readiness in
            self?.hasReaderLeft = !readiness.isDisjoint(with: [.hangup, .error])
            // Unread input from a socket would wake the loop up again and again, so stop watching.
            self?.reader?.cancel()
        }
    }
}

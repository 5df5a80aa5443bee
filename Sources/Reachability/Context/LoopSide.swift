internal import RunLoop

/// The part of a context that runs on its loop: the run loop, the network monitor, and the watches that the board
/// requests. It belongs to the thread that runs the loop.
final class LoopSide {
    let board: WatchBoard
    private let runLoop: RunLoop
    private let monitor: NetworkMonitor
    private var pathWatch: NetworkMonitor.Watch?
    private var bellSource: ReadinessSource?
    private var paths: [UInt64: Observers<NetworkPath>] = [:]
    private var targets: [UInt64: NetworkMonitor.Watch] = [:]

    /// - Throws: The kernel refuses a netlink socket, or a descriptor.
    init(configuration: ReachabilityConfiguration) throws(ReachabilityError) {
        do throws(RunLoopError) {
            // Don't resume the machine from suspend: the path is evaluated again on resume.
            runLoop = try RunLoop(wakingFromSuspend: false)
        } catch {
            throw Self.refused(error)
        }
        monitor = try NetworkMonitor(runLoop: runLoop, configuration: configuration)
        do throws(RunLoopError) {
            board = try WatchBoard(path: monitor.path)
            bellSource = try runLoop.watch(board.descriptor, for: .read, cause: .init("control")) { [unowned self] _ in
                takeChanges()
            }
        } catch {
            throw Self.refused(error)
        }
        board.publish(monitor.status)
        pathWatch = monitor.watchPath { [unowned self] in pathChanged($0) }
    }

    private static func refused(_ error: RunLoopError) -> ReachabilityError {
        ReachabilityError(error, advice: "raise the limit on descriptors")
    }

    deinit { close() }

    /// Waits for events, and handles them.
    /// - Parameter timeout: maximum wait; nil for no limit.
    func turn(timeout: Duration?) {
        runLoop.runOnce(timeout: timeout)
        board.publish(monitor.status)
    }

    /// Runs turns until the board is closed. The context's own thread calls this.
    func run() {
        while !board.isClosed { turn(timeout: nil) }
        close()
    }

    var descriptor: Int32 { runLoop.descriptor }

    func prepareToWait() -> Bool { runLoop.prepareToWait() }

    /// Ends every watch and every monitor. Idempotent.
    func close() {
        bellSource?.cancel()
        bellSource = nil
        pathWatch = nil
        paths = [:]
        targets = [:]
        monitor.close()
        for wish in board.takeAll() {
            switch wish {
            case .path(let observers): observers.finish()
            case .target(_, let observers): observers.finish()
            }
        }
    }

    private func takeChanges() {
        let changes = board.takeChanges()
        for number in changes.ended {
            paths[number] = nil
            targets[number] = nil
        }
        for (number, wish) in changes.wishes {
            switch wish {
            case .path(let observers):
                paths[number] = observers
                if observers.value == nil { observers.notify(board.path) } else { observers.notifyNew() }
            case .target(let target, let observers):
                if targets[number] != nil {
                    monitor.refresh([target])
                } else {
                    targets[number] = watch(target, observers)
                }
                observers.notifyNew()
            }
        }
    }

    private func pathChanged(_ path: NetworkPath) {
        guard board.publish(path) else { return }
        for (_, observers) in paths.sorted(by: { $0.key < $1.key }) { observers.notify(path) }
    }

    private func watch(_ target: ReachabilityTarget, _ observers: Observers<TargetReachability>) -> NetworkMonitor
        .Watch?
    {
        do throws(ReachabilityError) {
            return try monitor.watch(target) { observers.notify($0) }
        } catch {
            // The board counts the targets as the monitor does, so this happens only if the monitor was closed.
            observers.finish()
            return nil
        }
    }
}

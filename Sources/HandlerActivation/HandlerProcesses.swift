internal import FileSystem
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// The processes of the handlers that the daemon starts as its children. Kills what a handler leaves behind when it has
/// ended, and a handler whose processes use up what the kernel allows.
///
/// Which processes belong to a wake is told by its secret in their environment: children inherit that, also when they
/// start a session of their own and their parent exits.
final class HandlerProcesses {
    /// What an ordinary handler doesn't have.
    private static let leastOfMany = 64
    /// Rounds in which all processes of a wake are stopped, so that none starts another one while they are killed. Each
    /// round finds what was started during the one before.
    private static let maximumRounds = 16
    private static let maximumLooks = 50
    /// A look at all processes takes milliseconds.
    private static let timeBetweenLooks: Duration = .milliseconds(100)
    /// Killed processes need some time to end.
    private static let timeToEnd: Duration = .seconds(1)

    private struct Wake {
        let app: AppID
        let kill: () -> Void
    }

    /// What a handler that has ended may have left.
    private struct Rest {
        let app: AppID
        /// Whether its orphans are children of this process. Those of a handler of an earlier run aren't.
        let isChild: Bool
        /// A process that forks and exits again and again may be missed by a look.
        var looks = HandlerProcesses.maximumLooks
    }

    private let runLoop: RunLoop
    private let logger: Logger
    /// The handlers that run, by their secrets.
    private var running: [String: Wake] = [:]
    /// Handlers that have ended, by their secrets, until none of their processes is found any more.
    private var ended: [String: Rest] = [:]
    private var isLookDue = false
    private var nextLook: BootClock.Instant?
    private var roomUntil: BootClock.Instant?

    init(runLoop: RunLoop, logger: Logger) {
        self.runLoop = runLoop
        self.logger = logger
        runLoop.onProcessRefused = { [weak self] in self?.makeRoom() }
    }

    /// - Parameter kill: kills the handler and its group.
    func handlerStarted(_ secret: String, app: AppID, kill: @escaping () -> Void) {
        running[secret] = Wake(app: app, kill: kill)
    }

    /// Kills the rest in a later turn, so that no call waits for it.
    ///
    /// - Parameter isChild: whether this process has started it.
    func handlerEnded(_ secret: String, isChild: Bool) {
        guard let wake = running.removeValue(forKey: secret) else { return }
        ended[secret] = Rest(app: wake.app, isChild: isChild)
        runLoop.postpone { [weak self] in self?.killRest() }
    }

    private func killRest() {
        // In most cases the handler was the only child, so there is nothing to look for.
        if !runLoop.mayHaveOrphans { ended = ended.filter { !$0.value.isChild } }
        guard !ended.isEmpty else { return }
        let found = Self.kill { ended[$0] != nil }
        let apps = Set(found.values.compactMap { ended[$0]?.app.rawValue }).sorted()
        let secrets = Set(found.values)
        ended = ended.filter { secrets.contains($0.key) && $0.value.looks > 0 }
        guard !found.isEmpty else { return }
        logger.notice(
            "processes that a handler left behind are killed",
            metadata: ["apps": "\(apps.joined(separator: ","))", "processes": "\(found.count)"])
        for secret in ended.keys { ended[secret]?.looks -= 1 }
        guard !ended.isEmpty, !isLookDue else { return }
        isLookDue = true
        let time = runLoop.refreshNow().advanced(by: Self.timeBetweenLooks)
        runLoop.schedule(at: time, tolerance: Self.timeBetweenLooks, wakingFromSuspend: false) { [weak self] in
            self?.isLookDue = false
            self?.killRest()
        }
    }

    // MARK: - The limit on processes

    /// Whether processes were killed a moment ago, so that another may be started soon.
    var isMakingRoom: Bool { roomUntil.map { $0 > runLoop.refreshNow() } ?? false }

    /// The kernel has refused a process. Kills the handler whose wake has more than half of this user's processes.
    private func makeRoom() {
        let now = runLoop.refreshNow()
        guard nextLook.map({ $0 <= now }) ?? true else { return }
        nextLook = now.advanced(by: Self.timeBetweenLooks)
        var counts: [String: Int] = [:]
        // All of this user: a limit that others have used up ends no handler.
        var all = 0
        ProcessSearch.each(withVariable: HandlerEnvironment.secret) { _, secret in
            all += 1
            if let secret, running[secret] != nil || ended[secret] != nil { counts[secret, default: 0] += 1 }
        }
        guard let (secret, count) = counts.max(by: { $0.value < $1.value }), count >= Self.leastOfMany, count > all / 2,
            let app = running[secret]?.app ?? ended[secret]?.app
        else { return }
        logger.warning(
            "an app's handler has used up the processes and is killed",
            metadata: [
                "app": "\(app)", "processes": "\(count)",
                "why": "the kernel refuses another process; this handler of \(app) has most of them: correct it",
            ])
        // Its group dies at once: the kernel lets none of it start another process meanwhile.
        running[secret]?.kill()
        _ = Self.kill { $0 == secret }
        roomUntil = runLoop.refreshNow().advanced(by: Self.timeToEnd)
    }

    // MARK: - Finding and killing

    /// - Returns: the processes that were found, with their secrets.
    ///
    /// A PID is used directly after the look at its environment. Its reuse needs all other PIDs to come first.
    private static func kill(_ belongs: (_ secret: String) -> Bool) -> [Int32: String] {
        var stopped: [Int32: String] = [:]
        for _ in 0..<maximumRounds {
            let before = stopped.count
            ProcessSearch.each(withVariable: HandlerEnvironment.secret) { process, secret in
                guard let secret, belongs(secret), stopped.updateValue(secret, forKey: process) == nil else { return }
                Glibc.kill(process, SIGSTOP)
            }
            if stopped.count == before { break }
        }
        // They are stopped, so they still have their PIDs.
        for process in stopped.keys { Glibc.kill(process, SIGKILL) }
        return stopped
    }
}

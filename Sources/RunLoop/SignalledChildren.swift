internal import CRingwakeLinux
internal import Glibc

/// What SIGCHLD is for: children where the kernel has no pidfds (before Linux 5.3, as on many phones, or in a sandbox
/// that forbids them), and orphans, if this process adopts them.
final class SignalledChildren {
    /// Maximum children that are reaped in one turn.
    private static let maximumPerTurn = 1_000

    private struct Child {
        let beforeReaping: () -> Void
        let ended: (ChildExit) -> Void
    }

    private var children: [Int32: Child] = [:]
    fileprivate var isWatching = false
    /// Every child of this process is started by the loop, or is an orphan.
    fileprivate var reapsAll = false
    fileprivate var isSubreaper = false
    /// Children that are watched by a pidfd, which are left to its watch.
    fileprivate var others: Set<Int32> = []

    fileprivate func add(
        _ pid: Int32, beforeReaping: @escaping () -> Void, _ ended: @escaping (ChildExit) -> Void
    ) {
        children[pid] = Child(beforeReaping: beforeReaping, ended: ended)
    }

    /// Ends what has ended: one signal may stand for many children.
    ///
    /// - Returns: false if more have to be reaped in the next turn.
    fileprivate func reap() -> Bool {
        // Another part of the program may wait for children of its own.
        guard reapsAll else {
            for (pid, child) in children { reap(pid, child) }
            return true
        }
        for _ in 0..<Self.maximumPerTurn {
            let pid = Self.anyEnded()
            guard pid > 0 else { return true }
            if let child = children[pid] {
                reap(pid, child)
            } else if others.contains(pid) {
                // The kernel finds it first until its watch, which is due in this turn or the next, has reaped it.
                return false
            } else {
                waitpid(pid, nil, WNOHANG)
            }
        }
        return false
    }

    /// A child that has ended and isn't reaped; 0 if there is none, -1 if there are no children.
    fileprivate static func anyEnded() -> Int32 {
        var (code, status): (Int32, Int32) = (0, 0)
        return ringwake_wait_child(false, 0, WNOWAIT, &code, &status)
    }

    private func reap(_ pid: Int32, _ child: Child) {
        var (code, status): (Int32, Int32) = (0, 0)
        let result = ringwake_wait_child(false, pid, WNOWAIT, &code, &status)
        guard result != 0 else { return }
        children[pid] = nil
        child.beforeReaping()
        guard result > 0, ringwake_wait_child(false, pid, 0, &code, &status) > 0 else {
            return child.ended(.exited(-1))
        }
        child.ended(ChildExit(code: code, status: status))
    }
}

extension RunLoop {
    /// Makes this process the parent of its descendants whose parent has exited (`PR_SET_CHILD_SUBREAPER`), and reaps
    /// them when they end, by SIGCHLD, which this blocks in the calling thread. Call it before the first child is
    /// started, in a program all of whose children are started by ``start(_:inherited:variables:input:output:)``.
    ///
    /// In a sandbox that forbids it, orphans belong to init, as without it.
    /// - Throws: EMFILE, ENFILE or ENOMEM if a descriptor can't be created.
    package func adoptOrphans() throws(RunLoopError) {
        restoreChildSignal()
        try watchChildSignal()
        signalledChildren.reapsAll = true
        signalledChildren.isSubreaper = ringwake_adopt_orphans() == 0
    }

    /// Whether a descendant may be left whose parent has exited. False if this process has no children at all.
    package var mayHaveOrphans: Bool { !signalledChildren.isSubreaper || SignalledChildren.anyEnded() >= 0 }

    /// Notes that a child has a watch of its own; see ``SignalledChildren``.
    func excludeFromReaping(_ pid: Int32) { signalledChildren.others.insert(pid) }
    func includeInReaping(_ pid: Int32) { signalledChildren.others.remove(pid) }

    /// As ``watchChild(pidfd:beforeReaping:_:)``, by SIGCHLD, which this blocks in the calling thread.
    func watchChildBySignal(
        _ pid: Int32, beforeReaping: @escaping () -> Void, _ body: @escaping (ChildExit) -> Void
    ) throws(RunLoopError) {
        try watchChildSignal()
        signalledChildren.add(pid, beforeReaping: beforeReaping, body)
        // It may have ended before the signal was blocked.
        enqueue { [unowned self] in reapSignalled() }
    }

    private func watchChildSignal() throws(RunLoopError) {
        guard !signalledChildren.isWatching else { return }
        try onSignal(SIGCHLD) { [unowned self] in reapSignalled() }
        signalledChildren.isWatching = true
    }

    private func reapSignalled() {
        if !signalledChildren.reap() { postpone { [unowned self] in reapSignalled() } }
    }
}

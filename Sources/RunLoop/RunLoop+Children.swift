internal import CRingwakeLinux
internal import Glibc

/// How a child process ended.
package enum ChildExit: Equatable, Hashable, Sendable {
    /// It called exit with this status, 0 to 255; -1 when something else in this process had reaped it.
    case exited(Int32)
    /// This signal killed it.
    case signalled(Int32)
}

extension RunLoop {
    /// Calls `body` once, when the child has ended, and reaps it: no zombie remains.
    ///
    /// - Parameters:
    ///   - pidfd: From `pidfd_open`; the loop closes it after the child has ended. When this throws it stays the
    ///     caller's, and so does the child.
    ///   - beforeReaping: Runs first, while the process id (and the id of a process group that the child leads) is
    ///     still taken: the last moment at which a signal to it cannot reach a stranger.
    /// - Throws: The kernel refuses to watch it: EBADF, ENOSPC, ENOMEM.
    package func watchChild(
        pidfd: Int32, beforeReaping: (() -> Void)? = nil, _ body: @escaping (ChildExit) -> Void
    ) throws(RunLoopError) {
        restoreChildSignal()
        var token: SourceToken?
        token = try add(pidfd, interest: .read, cause: .child, isOwned: true) { [unowned self] _ in
            beforeReaping?()
            var code: Int32 = 0
            var status: Int32 = 0
            let result = ringwake_wait_pidfd(pidfd, &code, &status)
            if result == 0 { return }
            if let token { self.cancel(token) }
            guard result > 0 else { return body(.exited(-1)) }
            body(code == CLD_EXITED ? .exited(status) : .signalled(status))
        }
    }

    /// A process started with SIGCHLD ignored (some service managers and shells do) never sees an exit status: the
    /// kernel reaps its children for it.
    private func restoreChildSignal() {
        guard !signals.isChildSignalRestored else { return }
        signals.isChildSignalRestored = true
        signal(SIGCHLD, SIG_DFL)
    }
}

internal import CRingwakeLinux
internal import Glibc

/// How a child process ended.
package enum ChildExit: Equatable, Hashable, Sendable {
    /// It exited with this status, 0 to 255; -1 if other code of this process reaped it.
    case exited(Int32)
    /// This signal killed it.
    case signalled(Int32)

    /// - Parameter code: `CLD_EXITED`, or how it was killed (waitid(2)).
    init(code: Int32, status: Int32) {
        self = code == CLD_EXITED ? .exited(status) : .signalled(status)
    }
}

extension RunLoop {
    /// Calls `body` once when the child has ended, and reaps it. A child whose status can't be had counts as exited with
    /// -1.
    ///
    /// - Parameters:
    ///   - pidfd: from `pidfd_open`. The loop closes it after the child has ended. If this throws, the caller still
    ///     owns it and the child.
    ///   - beforeReaping: called before the child is reaped. Its PID (and its process group's ID) can't be reused until
    ///     then, so this is the last safe time to send a signal.
    /// - Throws: the kernel's error: EBADF, ENOSPC, ENOMEM.
    package func watchChild(
        pidfd: Int32, process: Int32? = nil, beforeReaping: (() -> Void)? = nil, _ body: @escaping (ChildExit) -> Void
    ) throws(RunLoopError) {
        restoreChildSignal()
        var token: SourceToken?
        token = try add(pidfd, interest: .read, cause: .child, isOwned: true) { [unowned self] _ in
            beforeReaping?()
            var code: Int32 = 0
            var status: Int32 = 0
            let result = ringwake_wait_child(process == nil, process ?? pidfd, 0, &code, &status)
            if let token { self.cancel(token) }
            // 0: it has ended, and a process that traces it has its status first. SIGCHLD comes when that lets it go.
            guard result > 0 else { return body(.exited(-1)) }
            body(ChildExit(code: code, status: status))
        }
    }

    /// If this process was started with SIGCHLD ignored (some service managers and shells do that), the kernel reaps
    /// its children, and we never get an exit status.
    func restoreChildSignal() {
        guard !signals.isChildSignalRestored else { return }
        signals.isChildSignalRestored = true
        signal(SIGCHLD, SIG_DFL)
    }
}

internal import CRingwakeLinux
internal import Glibc

// Starting processes. Each leads its own process group.
extension RunLoop {
    /// Starts a program by `execve`, without a shell. Every signal has its default action and none is blocked. The
    /// program gets three descriptors. Returns when it runs.
    ///
    /// - Parameters:
    ///   - command: the path and the arguments.
    ///   - inherited: further environment entries, each a C string `NAME=value`.
    ///   - variables: environment entries `NAME=value`; a NUL truncates an entry.
    /// - Throws: ENOENT, EACCES or ENOEXEC if the program can't be executed; EAGAIN or ENOMEM if no process can be
    ///   created. ``onProcessRefused`` is called before EAGAIN is thrown.
    package func start(
        _ command: [String], inherited: [UnsafeMutablePointer<CChar>?] = [], variables: [String], input: Int32,
        output: Int32
    ) throws(RunLoopError) -> Int32 {
        // One buffer for all strings of this call; the pointers into it live as long as the call.
        var bytes: [UInt8] = []
        var starts: [Int] = []
        for string in command + variables {
            starts.append(bytes.count)
            bytes += string.utf8
            bytes.append(0)
        }
        var pid: pid_t = 0
        let failure = bytes.withUnsafeMutableBytes { buffer in
            let strings = starts.map { buffer.baseAddress?.advanced(by: $0).assumingMemoryBound(to: CChar.self) }
            let arguments = strings.prefix(command.count) + [nil]
            let environment = inherited + strings.dropFirst(command.count) + [nil]
            return ringwake_spawn(&pid, Array(arguments), environment, input, output, output)
        }
        if failure == EAGAIN { onProcessRefused?() }
        guard failure == 0 else { throw RunLoopError(operation: "posix_spawn", errno: failure) }
        return pid
    }

    /// Watches a process that was just started. If that fails, the process and its group are killed and reaped, because
    /// nothing would notice their end.
    ///
    /// - Parameter beforeReaping: as in ``watchChild(pidfd:beforeReaping:_:)``.
    /// - Throws: if the kernel refuses a descriptor or the watch.
    package func watchStarted(
        _ pid: Int32, beforeReaping: @escaping () -> Void, _ body: @escaping (ChildExit) -> Void
    ) throws(RunLoopError) {
        let pidfd = ringwake_pidfd_open(pid)
        do throws(RunLoopError) {
            guard pidfd >= 0 else {
                guard errno == ENOSYS || errno == EPERM else {
                    throw RunLoopError(operation: "pidfd_open", errno: errno)
                }
                restoreChildSignal()
                return try watchChildBySignal(pid, beforeReaping: beforeReaping, body)
            }
            excludeFromReaping(pid)
            // Linux 5.3 opens pidfds, and 5.4 waits for them.
            try watchChild(pidfd: pidfd, process: pid) { [unowned self] in
                includeInReaping(pid)
                beforeReaping()
            } _: {
                body($0)
            }
        } catch {
            includeInReaping(pid)
            if pidfd >= 0 { close(pidfd) }
            kill(-pid, SIGKILL)
            while waitpid(pid, nil, 0) < 0, errno == EINTR {}
            throw error
        }
    }
}

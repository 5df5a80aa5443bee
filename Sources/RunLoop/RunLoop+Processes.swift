internal import CRingwakeLinux
internal import Glibc

// Processes that this one starts, each the leader of a process group of its own.
extension RunLoop {
    /// Starts a program by `execve`, without a shell, with every signal at its default and none blocked, and with three
    /// descriptors. Returns when the program runs.
    ///
    /// - Parameters:
    ///   - command: A path and the arguments.
    ///   - inherited: What else the environment holds, `NAME=value` each as a C string.
    ///   - variables: `NAME=value`; a NUL in one ends it.
    /// - Throws: The program cannot be executed (ENOENT, EACCES, ENOEXEC), or no process can be had (EAGAIN, ENOMEM).
    package static func start(
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
        guard failure == 0 else { throw RunLoopError(operation: "posix_spawn", errno: failure) }
        return pid
    }

    /// Watches a process that has just been started. One that cannot be watched is killed with its group, and reaped:
    /// nobody would see its end.
    ///
    /// - Parameter beforeReaping: As in ``watchChild(pidfd:beforeReaping:_:)``.
    /// - Throws: The kernel refuses a descriptor, or to watch it.
    package func watchStarted(
        _ pid: Int32, beforeReaping: @escaping () -> Void, _ body: @escaping (ChildExit) -> Void
    ) throws(RunLoopError) {
        let pidfd = ringwake_pidfd_open(pid)
        do throws(RunLoopError) {
            guard pidfd >= 0 else { throw RunLoopError(operation: "pidfd_open", errno: errno) }
            try watchChild(pidfd: pidfd, beforeReaping: beforeReaping, body)
        } catch {
            if pidfd >= 0 { close(pidfd) }
            kill(-pid, SIGKILL)
            while waitpid(pid, nil, 0) < 0, errno == EINTR {}
            throw error
        }
    }
}

import CRingwakeLinux
import Glibc
import Testing

/// A process that a test needs beside it, killed with its group when the test ends.
nonisolated final class TestProcess {
    let pid: Int32
    private var isRunning = true

    /// - Parameter output: A file that its output is written to.
    init(_ command: [String], environment: [String] = [], output: String = "/dev/null") throws {
        let input = ringwake_open("/dev/null", O_RDONLY, 0)
        let sink = ringwake_open(output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer {
            close(input)
            close(sink)
        }
        let arguments = command.map { strdup($0) }
        let variables = (["PATH=/usr/sbin:/usr/bin:/sbin:/bin"] + environment).map { strdup($0) }
        defer { for text in arguments + variables { free(text) } }
        var pid: pid_t = 0
        try #require(ringwake_spawn(&pid, arguments + [nil], variables + [nil], input, sink, sink) == 0, "\(command)")
        self.pid = pid
    }

    deinit {
        stop()
    }

    /// SIGKILL to all of its group; returns when it is gone.
    func stop() {
        guard isRunning else { return }
        isRunning = false
        kill(-pid, SIGKILL)
        while waitpid(pid, nil, 0) < 0, errno == EINTR {}
    }

    /// Waits for its end.
    func waitForEnd() -> Int32 {
        guard isRunning else { return -1 }
        isRunning = false
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status >> 8 & 0xFF
    }
}

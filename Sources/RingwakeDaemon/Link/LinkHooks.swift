internal import CRingwakeLinux
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// The programs that are told of a client reset, before and after it. They get the folder with the copies, and nothing
/// waits for them.
struct LinkHooks {
    /// Program and arguments; nil: none.
    let before: [String]?
    let after: [String]?
    let runLoop: RunLoop
    let environment: [String]
    let logger: Logger

    /// A hook that takes longer is ended.
    private static let limit = Duration.seconds(60)

    /// Starts a hook with `RINGWAKE_RESET_DIRECTORY` in its environment.
    func run(_ command: [String]?, folder: String) {
        guard let command, !command.isEmpty else { return }
        let null = ringwake_open("/dev/null", O_RDWR, 0)
        guard null >= 0 else { return logger.error("no descriptor for the hook of a client reset") }
        defer { close(null) }
        do throws(RunLoopError) {
            let variables = environment + ["RINGWAKE_RESET_DIRECTORY=\(folder)"]
            let pid = try runLoop.start(command, variables: variables, input: null, output: null)
            let timer = runLoop.schedule(
                at: runLoop.now.advanced(by: Self.limit), tolerance: .seconds(5), wakingFromSuspend: false
            ) { kill(-pid, SIGKILL) }
            try runLoop.watchStarted(pid, beforeReaping: { [runLoop] in runLoop.cancel(timer) }) { [logger] exit in
                guard exit != .exited(0) else { return }
                logger.warning(
                    "the hook of a client reset failed", metadata: ["command": "\(command[0])", "exit": "\(exit)"])
            }
        } catch {
            logger.error(
                "the hook of a client reset cannot be started",
                metadata: ["command": "\(command[0])", "why": "\(error)"])
        }
    }
}

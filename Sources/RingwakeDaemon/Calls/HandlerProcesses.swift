internal import Cryptography
internal import HandlerActivation
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// The processes of the handlers that run, and the secret that each was given.
final class HandlerProcesses {
    private let activator: ExecHandlerActivator
    private let exitPatience: Duration
    private var running: [WakeID: RunningHandler] = [:]
    private var wakes: [String: (app: AppID, wake: WakeID)] = [:]

    /// What a stopped handler gets between SIGTERM and SIGKILL.
    private static let stopGrace = Duration.seconds(5)

    /// - Parameter exitPatience: What a handler gets between its last call's end and SIGTERM. It is to exit by itself;
    ///   but handlers that hang must not gather until no further one can be started.
    init(activator: ExecHandlerActivator, exitPatience: Duration) {
        self.activator = activator
        self.exitPatience = exitPatience
    }

    /// Whose this secret is, while that handler runs.
    func wake(ofSecret secret: String) -> (app: AppID, wake: WakeID)? { wakes[secret] }

    /// Starts a handler.
    ///
    /// - Parameter onExit: called once when the process has ended.
    /// - Returns: its process id.
    func start(
        _ request: WakeRequest, command: [String], onExit: @escaping (HandlerExit) -> Void
    ) throws(RingwakeError) -> Int32 {
        let secret = encodeHex(try SecureRandom.bytes(32))
        let handler = try activator.wake(request, command: command, secret: secret) { [weak self] exit in
            self?.running[request.wake] = nil
            self?.wakes[secret] = nil
            switch exit {
            case .exited(let status): onExit(.exited(status))
            case .signalled(let signal): onExit(.signalled(signal))
            }
        }
        running[request.wake] = handler
        wakes[secret] = (request.app, request.wake)
        return handler.pid
    }

    /// Ends a handler: SIGTERM now, SIGKILL when it still runs later.
    func stop(_ wake: WakeID) {
        running[wake]?.stop(grace: HandlerProcesses.stopGrace)
    }

    /// A handler has no call any more: it is stopped if it does not exit by itself.
    func release(_ wake: WakeID) {
        running[wake]?.expectExit(within: exitPatience, grace: HandlerProcesses.stopGrace)
    }

    /// A handler that was released has a call again.
    func retain(_ wake: WakeID) {
        running[wake]?.keep()
    }
}

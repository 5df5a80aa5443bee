/// Does to calls what a user does: CallKit's `CXCallController` and `CXCallObserver`.
///
///     let controller = CallController(client: client)
///     try await controller.request(CallTransaction(.hold("c1"), .answer("c2")))
///
/// It is for the daemon's user and root: a phone's own interface, a headset's button. A handler that runs as anybody else,
/// or as a systemd unit that the daemon started, is refused: what it gets are the actions of ``CallProvider/actions``.
public final class CallController: Sendable {
    private let client: RingwakeClient

    public init(client: RingwakeClient) {
        self.client = client
    }

    /// Asks for each step in order, and stops at the first that fails. A step is done when the daemon has taken it: that
    /// the call's handler has done its part is told by ``CallProvider/events`` and ``calls()``.
    ///
    /// - Throws: Which step failed, why, and which were done before it.
    public func request(_ transaction: CallTransaction) async throws(CallTransactionError) {
        var done: [CallTransaction.Step] = []
        for step in transaction.steps {
            do throws(CallError) {
                try await client.port.perform(step)
            } catch {
                throw CallTransactionError(failed: step, error: error, done: done)
            }
            done.append(step)
        }
    }

    /// Asks for one step.
    public func request(_ step: CallTransaction.Step) async throws(CallTransactionError) {
        try await request(CallTransaction(step))
    }

    /// The calls of the device that run, of every app where this user may see them, the newest first.
    ///
    /// - Throws: `notPermitted`, `daemonNotRunning`, `timedOut`.
    public func calls() async throws(RingwakeKitError) -> [CallInfo] {
        try await client.port.deviceCalls()
    }
}

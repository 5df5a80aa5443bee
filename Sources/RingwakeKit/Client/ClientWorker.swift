internal import RunLoop

/// What a client's thread runs: a run loop, the transport and the session. It belongs to that thread.
final class ClientWorker {
    private let runLoop: RunLoop
    private let driver: SessionDriver
    private let queue: ClientQueue
    private var bellSource: ReadinessSource?

    /// - Parameter transport: creates the transport; nil: the daemon's unix socket.
    init(
        _ configuration: RingwakeClient.Configuration, queue: ClientQueue, state: ClientState,
        transport: (@Sendable (ClientQueue) throws(RingwakeKitError) -> any ControlTransport)?
    ) throws(RingwakeKitError) {
        do throws(RunLoopError) {
            // Retries needn't resume the machine: while it is suspended, so is the daemon.
            runLoop = try RunLoop(wakingFromSuspend: false)
        } catch {
            throw RingwakeKitError(refusedBySystem: error)
        }
        let connection: any ControlTransport =
            if let transport {
                try transport(queue)
            } else {
                UnixTransport(path: configuration.socketPath, runLoop: runLoop)
            }
        driver = SessionDriver(configuration, queue: queue, state: state, runLoop: runLoop, transport: connection)
        self.queue = queue
        (connection as? UnixTransport)?.deliver = { [unowned driver] in driver.take($0) }
        do throws(RunLoopError) {
            bellSource = try runLoop.watch(queue.descriptor, for: .read, cause: .init("app")) { [unowned self] _ in
                for job in self.queue.takeJobs() { job(driver) }
            }
        } catch {
            throw RingwakeKitError(refusedBySystem: error)
        }
    }

    /// Connects, and runs the loop until the client is closed.
    func run() {
        driver.start()
        while !queue.isClosed { runLoop.runOnce(timeout: nil) }
        driver.close()
        // Run the jobs posted before the end. They see that the driver is closed.
        for job in queue.takeJobs() { job(driver) }
        bellSource?.cancel()
    }
}

extension RingwakeKitError {
    init(refusedBySystem error: RunLoopError) {
        self.init(.system, "\(error); raise the limits on descriptors and tasks")
    }
}

internal import RunLoop

/// The thread's side of a client: a run loop, the transport and the core. It belongs to the thread that runs it.
final class ClientSide {
    private let runLoop: RunLoop
    private let core: ClientCore
    private let port: ClientPort
    private var bellSource: ReadinessSource?

    /// - Parameter transport: Makes another way to the daemon than its socket.
    init(
        _ configuration: RingwakeClient.Configuration, port: ClientPort, hub: ClientHub,
        transport: (@Sendable (ClientPort) throws(RingwakeKitError) -> any ControlTransport)?
    ) throws(RingwakeKitError) {
        do throws(RunLoopError) {
            // Nobody is woken from suspend to try a daemon that sleeps too.
            runLoop = try RunLoop(wakingFromSuspend: false)
        } catch {
            throw RingwakeKitError(refusedBySystem: error)
        }
        let way: any ControlTransport =
            if let transport {
                try transport(port)
            } else {
                UnixTransport(path: configuration.socketPath, runLoop: runLoop)
            }
        core = ClientCore(configuration, port: port, hub: hub, runLoop: runLoop, transport: way)
        self.port = port
        (way as? UnixTransport)?.tell = { [unowned core] in core.take($0) }
        do throws(RunLoopError) {
            bellSource = try runLoop.watch(port.descriptor, for: .read, cause: .init("app")) { [unowned self] _ in
                for job in self.port.takeJobs() { job(core) }
            }
        } catch {
            throw RingwakeKitError(refusedBySystem: error)
        }
    }

    /// Connects, and takes turns until the client is closed.
    func run() {
        core.start()
        while !port.isClosed { runLoop.runOnce(timeout: nil) }
        core.close()
        // What was handed over before the end finds it closed.
        for job in port.takeJobs() { job(core) }
        bellSource?.cancel()
    }
}

extension RingwakeKitError {
    init(refusedBySystem error: RunLoopError) {
        self.init(.system, "\(error); raise the limits on descriptors and tasks")
    }
}

internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop
internal import Synchronization

/// Shared by the sessions of one process: one arbiter, one connection to the audio server and one effect journal, on
/// a thread that sleeps until there is something to do.
final class SessionService: Sendable {
    /// How long the exit of the process waits for the restoration.
    static let exitTimeoutMilliseconds: Int32 = 3_000

    let requests: SessionRequests
    private let thread: WorkerThread
    private let ended: EventDescriptor

    // One for the process: two would undo each other's effects. It is never released: its thread costs nothing
    // without a session, and the exit handler is registered once.
    private static let current = Mutex<SessionService?>(nil)

    /// The service of this process.
    /// - Throws: `unspecified`: no thread or descriptor is available.
    static func ofProcess() throws(AudioSessionError) -> SessionService {
        let result = current.withLock { current -> Result<SessionService, AudioSessionError> in
            if let current { return .success(current) }
            do throws(AudioSessionError) {
                let service = try SessionService(environment: processEnvironment(), address: .standard)
                atexit { SessionService.processEnds() }
                current = service
                return .success(service)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// - Parameters:
    ///   - environment: it names the folder of the journals, and the session bus.
    ///   - address: The audio server.
    init(environment: [String: String], address: PulseAddress) throws(AudioSessionError) {
        do throws(RunLoopError) {
            ended = try EventDescriptor(nonblocking: false)
            requests = try SessionRequests()
            let loop = try SessionLoop(requests, environment: environment, address: address)
            let ended = ended
            thread = try WorkerThread(name: "call-audio") {
                loop.run()
                ended.ring()
            }
        } catch {
            throw AudioSessionError(
                .unspecified, "no thread for audio sessions: \(error); raise the limits of the process")
        }
    }

    deinit { requests.close() }

    /// Closes all sessions, undoes everything, and waits for that.
    func close() {
        requests.close()
        thread.join()
    }

    /// A process that exits without deactivating its sessions restores everything too.
    private static func processEnds() {
        // If a callback exits the process, this thread is the one that would undo. The next program does it instead.
        guard let service = current.withLock({ $0 }), !service.thread.isCurrent else { return }
        service.requests.close()
        _ = service.ended.wait(milliseconds: exitTimeoutMilliseconds)
    }
}

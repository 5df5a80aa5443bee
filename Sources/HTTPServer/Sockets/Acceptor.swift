import CRingwakeLinux
import Glibc
import Logging
import RingwakeCore
import RunLoop

/// Accepts connections from a listening socket, as many at a time as allowed.
///
/// ```
/// accepting --limit reached--> full --a connection ended--> accepting
///           --no descriptor or memory--> starved --a connection ended, or a second passed--> accepting
/// ```
/// While it does not accept, connections wait in the kernel's backlog and the socket wakes nobody.
final class Acceptor {
    /// Connections that wait in the kernel.
    static let backlog: Int32 = 512
    /// Connections accepted in one turn of the loop, so that those that are there get their turn.
    private static let maximumAcceptsPerTurn = 64
    /// When to try again after descriptors or memory ran out, if no connection ends before.
    private static let retryDelay: Duration = .seconds(1)

    private let runLoop: RunLoop
    private let maximumConnections: Int
    private let logger: Logger
    private var accepted: ((Int32, sockaddr_storage) -> Void)?
    private var descriptor: Int32
    private var source: ReadinessSource?
    private var retry: Timer?
    /// Reported once, and again only after the number had fallen to half: peers can make it come and go.
    private var isLimitReported = false
    private(set) var openConnections = 0

    /// Takes ownership of a listening, non-blocking descriptor, also when it throws.
    ///
    /// - Parameter accepted: receives each connection's descriptor, which it owns from then on, and its peer's
    ///   address. It, or what it hands the descriptor to, calls ``connectionEnded()`` once when it has closed it.
    init(
        runLoop: RunLoop, descriptor: Int32, cause: WakeupCause, maximumConnections: Int, logger: Logger,
        accepted: @escaping (Int32, sockaddr_storage) -> Void
    ) throws(RingwakeError) {
        self.runLoop = runLoop
        self.descriptor = descriptor
        self.maximumConnections = maximumConnections
        self.logger = logger
        self.accepted = accepted
        do {
            source = try runLoop.watch(descriptor, for: .read, cause: cause) { _ in self.acceptSome() }
        } catch {
            _ = Glibc.close(descriptor)
            throw RingwakeError(.system, "a listening socket cannot be watched: \(error); raise the limit it names")
        }
    }

    /// A connection that was accepted has been closed.
    func connectionEnded() {
        openConnections -= 1
        if openConnections < maximumConnections / 2 {
            isLimitReported = false
        }
        resume()
    }

    /// Stops accepting and closes the socket; those that wait in the backlog are refused. Idempotent.
    func close() {
        guard let source else { return }
        source.cancel()
        self.source = nil
        if let retry {
            runLoop.cancel(retry)
        }
        retry = nil
        accepted = nil
        _ = Glibc.close(descriptor)
        descriptor = -1
    }

    private func acceptSome() {
        for _ in 0..<Acceptor.maximumAcceptsPerTurn {
            // The one before may have closed the listener.
            guard source != nil else { return }
            guard openConnections < maximumConnections else {
                reportLimit()
                pause()
                return
            }
            var address = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let connection = ringwake_accept(descriptor, &address, &length)
            if connection >= 0 {
                openConnections += 1
                accepted?(connection, address)
                continue
            }
            let error = SystemCallError.last
            switch error.number {
            case EAGAIN:
                return
            case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
                ENETUNREACH, EPERM:
                // The error of that one connection (accept(2)).
                continue
            default:
                logger.error(
                    "no connection can be accepted for now; raise the limit of open files if it is that",
                    metadata: ["error": "\(error.reason)"])
                pause()
                retryLater()
                return
            }
        }
    }

    private func reportLimit() {
        guard !isLimitReported else { return }
        isLimitReported = true
        logger.notice(
            "the limit of connections is reached; further ones wait", metadata: ["limit": "\(maximumConnections)"])
    }

    private func pause() {
        // Taking a source out of the set cannot fail.
        try? source?.update([])
    }

    private func retryLater() {
        guard retry == nil else { return }
        let deadline = runLoop.now.advanced(by: Acceptor.retryDelay)
        retry = runLoop.schedule(at: deadline, tolerance: Acceptor.retryDelay) { [weak self] in
            self?.retry = nil
            self?.resume()
        }
    }

    private func resume() {
        guard let source, openConnections < maximumConnections else { return }
        do {
            try source.update(.read)
        } catch {
            logger.error("a listening socket cannot be watched; trying again", metadata: ["error": "\(error)"])
            retryLater()
        }
    }
}

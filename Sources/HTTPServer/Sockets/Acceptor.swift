import CRingwakeLinux
import Glibc
import Logging
import RingwakeCore
import RunLoop

/// Accepts connections from a listening socket, up to a limit.
///
/// ```
/// accepting --limit reached--> full --a connection ended--> accepting
///           --no descriptor or memory--> starved --a connection ended, or a second passed--> accepting
///           --hold(true)--> held --hold(false)--> accepting
/// ```
/// While it doesn't accept, connections wait in the kernel's backlog, and the socket causes no wakeups.
final class Acceptor {
    /// Maximum connections in the kernel's backlog.
    static let backlog: Int32 = 4096
    /// Maximum accepts in one turn of the loop, so that existing connections get their turn.
    static let maximumAcceptsPerTurn = 64
    /// Delay of the next attempt after descriptors or memory ran out, unless a connection ends before.
    private static let retryDelay: Duration = .seconds(1)

    private let runLoop: RunLoop
    private let maximumConnections: Int
    private let maximumPerTurn: Int
    private let pace: Pace?
    private let logger: Logger
    private var accepted: ((Int32, sockaddr_storage) -> Void)?
    private var descriptor: Int32
    private var source: ReadinessSource?
    private var retry: Timer?
    /// The next accept waits for its ``Pace``.
    private var isPaced = false
    private var isHeld = false
    private var hasToken = false
    /// Log the limit once, and again only after the number has fallen to half, because peers can cause it at will.
    private var isLimitReported = false
    private(set) var openConnections = 0

    /// Takes ownership of a listening, non-blocking descriptor, even if it throws.
    ///
    /// - Parameters:
    ///   - maximumPerTurn: of accepts in one turn of the loop.
    ///   - pace: the rate of accepts, with one in a turn; nil: no limit.
    ///   - accepted: called with each connection's descriptor, which it then owns, and its peer's address. When
    ///     the descriptor has been closed, ``connectionEnded()`` must be called once.
    init(
        runLoop: RunLoop, descriptor: Int32, cause: WakeupCause, maximumConnections: Int,
        maximumPerTurn: Int = maximumAcceptsPerTurn, pace: Pace? = nil, logger: Logger,
        accepted: @escaping (Int32, sockaddr_storage) -> Void
    ) throws(RingwakeError) {
        self.runLoop = runLoop
        self.descriptor = descriptor
        self.maximumConnections = maximumConnections
        self.maximumPerTurn = pace == nil ? maximumPerTurn : 1
        self.pace = pace
        self.logger = logger
        self.accepted = accepted
        do {
            source = try runLoop.watch(descriptor, for: .read, cause: cause) { _ in self.acceptSome() }
        } catch {
            _ = Glibc.close(descriptor)
            throw RingwakeError(.system, "a listening socket cannot be watched: \(error); raise the limit it names")
        }
    }

    /// An accepted connection has been closed.
    func connectionEnded() {
        openConnections -= 1
        if openConnections < maximumConnections / 2 {
            isLimitReported = false
        }
        resume()
    }

    /// Stops accepting for a while, or goes on.
    func hold(_ holds: Bool) {
        isHeld = holds
        if holds { pause() } else { resume() }
    }

    /// Stops accepting and closes the socket. Connections in the backlog are refused. Idempotent.
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
        for _ in 0..<maximumPerTurn {
            // The previous connection may have closed the listener.
            guard source != nil else { return }
            guard openConnections < maximumConnections else {
                reportLimit()
                pause()
                return
            }
            guard hasToken || pace?.take() ?? true else { return waitForPace() }
            hasToken = false
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
                // An error of that connection only (accept(2)).
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

    private func waitForPace() {
        pause()
        guard !isPaced else { return }
        isPaced = true
        pace?.whenThere { [weak self] in
            self?.isPaced = false
            self?.hasToken = true
            self?.resume()
        }
    }

    private func pause() {
        // Removing a source from the set can't fail.
        try? source?.update([])
    }

    private func retryLater() {
        guard retry == nil else { return }
        let deadline = runLoop.now.advanced(by: Acceptor.retryDelay)
        retry = runLoop.schedule(at: deadline, tolerance: Acceptor.retryDelay, wakingFromSuspend: false) {
            [weak self] in
            self?.retry = nil
            self?.resume()
        }
    }

    private func resume() {
        guard let source, openConnections < maximumConnections, !isPaced, !isHeld else { return }
        do {
            try source.update(.read)
        } catch {
            logger.error("a listening socket cannot be watched; trying again", metadata: ["error": "\(error)"])
            retryLater()
        }
    }
}

internal import Glibc
internal import RunLoop

/// A unix socket connection on the run loop. Delivers its bytes and its end, never from within a call.
final class SocketConnection {
    enum Event {
        case bytes(ArraySlice<UInt8>)
        /// Delivered once, as the last event.
        case ended(RingwakeKitError)
    }

    private let path: String
    private let deliver: (Event) -> Void
    private var socket: StreamSocket?
    private var isOver = false
    /// Whether the connection was established.
    private(set) var wasConnected = false

    /// Connects. Delivers a failure as ``Event/ended(_:)``.
    init(path: String, runLoop: RunLoop, deliver: @escaping (Event) -> Void) {
        self.path = path
        self.deliver = deliver
        do throws(RingwakeKitError) {
            try connect(on: runLoop)
        } catch {
            runLoop.enqueue { [weak self] in self?.end(error) }
        }
    }

    deinit { close() }

    private func connect(on runLoop: RunLoop) throws(RingwakeKitError) {
        let descriptor: Int32
        do throws(RunLoopError) {
            descriptor = try UnixSocket.connect(to: path)
        } catch {
            throw SocketConnection.refusal(error, path)
        }
        wasConnected = true
        let socket = StreamSocket(descriptor, runLoop: runLoop, maximumUnsent: .max)
        socket.onBytes = { [weak self] in self?.deliver(.bytes($0)) }
        socket.onEnd = { [weak self] in self?.ended($0) }
        do throws(RunLoopError) {
            try socket.begin(cause: .init("daemon"))
        } catch {
            throw RingwakeKitError(refusedBySystem: error)
        }
        self.socket = socket
    }

    func send(_ bytes: [UInt8]) { socket?.send(bytes) }

    /// Closes the connection without an event. Idempotent.
    func close() {
        isOver = true
        socket?.close()
        socket = nil
    }

    private func end(_ error: RingwakeKitError) {
        guard !isOver else { return }
        close()
        deliver(.ended(error))
    }

    private func ended(_ end: StreamSocket.End) {
        switch end {
        case .unwatched(let error): self.end(RingwakeKitError(refusedBySystem: error))
        case .closed(let errno):
            let why = errno == 0 ? "the daemon closed it" : String(cString: strerror(errno))
            self.end(RingwakeKitError(.unreachable, "the connection to '\(path)' ended: \(why)"))
        case .unread: break
        }
    }

    private static func refusal(_ error: RunLoopError, _ path: String) -> RingwakeKitError {
        switch error.errno {
        case _ where error.operation == "socket":
            RingwakeKitError(.system, "no socket could be made: \(error.reason)")
        case ENAMETOOLONG:
            RingwakeKitError(.invalidRequest, "the socket path '\(path)' is empty or longer than 107 bytes")
        case ENOENT:
            RingwakeKitError(.daemonNotRunning, "no daemon: there is no socket '\(path)'; start ringwaked")
        case ECONNREFUSED:
            RingwakeKitError(.daemonNotRunning, "no daemon listens on '\(path)', it was left by one that has gone")
        case EACCES, EPERM:
            RingwakeKitError(
                .notPermitted,
                "this user may not use the socket '\(path)'; it is for its owner and the members of its group")
        case EAGAIN:
            RingwakeKitError(.unreachable, "the daemon at '\(path)' takes no connection now")
        default:
            RingwakeKitError(
                .unreachable, "the socket '\(path)' cannot be used: \(error.reason)")
        }
    }
}

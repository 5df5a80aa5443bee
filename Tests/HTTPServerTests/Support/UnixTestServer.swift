import CRingwakeLinux
import Glibc
import HTTPServer
import Logging
import RunLoop

/// A listener on a Unix socket in a directory of its own.
@MainActor final class UnixTestServer {
    let loop: TestLoop
    let path: String
    private(set) var handlers: [RecordingHandler] = []
    private var started: UnixHTTPListener?
    /// Who holds the next connections; nil: the user who connects.
    var holder: PlaceHolder?
    /// What is done with each request; at first: an answer with its path.
    var onRequest: (HTTPRequest, any HTTPExchange) -> Void = { request, exchange in
        exchange.respond(HTTPResponse(status: 200, body: Array(request.path.utf8)))
    }

    init(
        _ loop: TestLoop, path: String = UnixTestServer.freshPath(), access: SocketAccess = .owner,
        pace: Pace? = nil, limits change: (inout ConnectionLimits) -> Void = { _ in }
    ) throws {
        self.loop = loop
        self.path = path
        var limits = ConnectionLimits.control()
        limits.deadlineTolerance = .zero
        change(&limits)
        started = try UnixHTTPListener(
            runLoop: loop.runLoop, socket: try .open(path, access: access), limits: limits, pace: pace,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { [unowned self] peer in
            let handler = RecordingHandler(peer: peer) { [unowned self] request, exchange in
                self.onRequest(request, exchange)
            }
            handler.holder = self.holder
            self.handlers.append(handler)
            return handler
        }
    }

    var listener: UnixHTTPListener {
        guard let started else { preconditionFailure("init has made it") }
        return started
    }

    var requests: [HTTPRequest] { handlers.flatMap(\.requests) }
    var exchanges: [any HTTPExchange] { handlers.flatMap(\.exchanges) }

    func client() -> SocketClient { .unix(path: path, loop) }

    /// Closes everything, so that the loop lets go of it.
    func stop() {
        listener.closeNow()
        // Not when another test's socket is in it.
        rmdir(String(path.dropLast("/socket".count)))
    }

    /// A path in a new directory under the temporary one.
    static func freshPath() -> String {
        var template = Array("/tmp/ringwake-test-XXXXXX\0".utf8CString)
        guard mkdtemp(&template) != nil else { return "/nonexistent/socket" }
        return String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) + "/socket"
    }

    /// A socket that was bound by a process that has died since.
    static func makeStaleSocket(at path: String) {
        var address = sockaddr_storage()
        let length = ringwake_unix_address(path, &address)
        let descriptor = ringwake_stream_socket(AF_UNIX)
        _ = ringwake_bind(descriptor, &address, length)
        _ = listen(descriptor, 1)
        close(descriptor)
    }

    static func status(of path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }
}

import CRingwakeLinux
import Glibc
import RunLoop

/// A client's end of a TCP or Unix socket that speaks plain bytes.
@MainActor final class SocketClient {
    let descriptor: Int32
    private(set) var received: [UInt8] = []
    /// The server has closed its end.
    private(set) var isClosed = false
    var isReading = true
    private var unsent: [UInt8] = []

    private init(_ descriptor: Int32, _ loop: TestLoop) {
        self.descriptor = descriptor
        loop.afterTurn.append { [weak self] in self?.pump() }
    }

    static func tcp(port: UInt16, host: String = "127.0.0.1", _ loop: TestLoop) -> SocketClient {
        var address = sockaddr_storage()
        let length = ringwake_ip_address(host, port, &address)
        let descriptor = ringwake_stream_socket(Int32(address.ss_family))
        _ = ringwake_connect(descriptor, &address, length)
        return SocketClient(descriptor, loop)
    }

    static func unix(path: String, _ loop: TestLoop) -> SocketClient {
        var address = sockaddr_storage()
        let length = ringwake_unix_address(path, &address)
        let descriptor = ringwake_stream_socket(AF_UNIX)
        _ = ringwake_connect(descriptor, &address, length)
        return SocketClient(descriptor, loop)
    }

    var text: String { String(decoding: received, as: UTF8.self) }

    func send(_ text: String) {
        send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) {
        unsent += bytes
        pump()
    }

    func finishSending() {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        _ = Glibc.close(descriptor)
    }

    func pump() {
        guard !isClosed else { return }
        if !unsent.isEmpty {
            let count = Glibc.send(descriptor, unsent, unsent.count, Int32(MSG_NOSIGNAL))
            if count > 0 { unsent.removeFirst(count) }
        }
        var buffer = [UInt8](repeating: 0, count: 16384)
        while isReading {
            let count = read(descriptor, &buffer, buffer.count)
            if count > 0 {
                received += buffer[..<count]
            } else {
                if count == 0 || (errno != EAGAIN && errno != EINTR && errno != ENOTCONN) { close() }
                return
            }
        }
    }
}

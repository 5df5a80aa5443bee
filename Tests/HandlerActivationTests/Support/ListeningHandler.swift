import CRingwakeLinux
import Glibc
import Testing

/// A handler that listens on a unix socket, as a program would.
final class ListeningHandler {
    let path: String
    let listener: Int32
    private(set) var connection: Int32 = -1

    init(path: String, backlog: Int32 = 8) throws {
        self.path = path
        var address = sockaddr_storage()
        let length = ringwake_unix_address(path, &address)
        listener = ringwake_stream_socket(AF_UNIX)
        try #require(listener >= 0)
        try #require(ringwake_bind(listener, &address, length) == 0)
        try #require(listen(listener, backlog) == 0)
    }

    isolated deinit {
        close(listener)
        if connection >= 0 { close(connection) }
        unlink(path)
    }

    func accept() -> Bool {
        if connection < 0 { connection = ringwake_accept(listener, nil, nil) }
        return connection >= 0
    }

    /// What has come, up to now.
    func read() -> String {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = Glibc.read(connection, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    /// True when the other side says no more.
    var seesEnd: Bool {
        var byte: UInt8 = 0
        return recv(connection, &byte, 1, Int32(MSG_PEEK)) == 0
    }

    func send(_ count: Int) {
        _ = [UInt8](repeating: 10, count: count).withUnsafeBytes {
            Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
    }

    func leave() {
        close(connection)
        connection = -1
    }
}

import CRingwakeLinux
import ControlProtocol
import Cryptography
import Glibc
import RingwakeCore

/// One of the daemon's ports, as a sender on this machine sees it.
struct PortLook: Equatable {
    /// `address:port`.
    var address: String
    var environment: String
    /// Whether only this machine reaches it.
    var isLoopback: Bool
    /// Version of TLS and protocol, of a handshake that succeeded.
    var agreed: String?
    /// Why no sender can talk to it.
    var problem: String?

    init(address: String, environment: String, isLoopback: Bool, agreed: String? = nil, problem: String? = nil) {
        self.address = address
        self.environment = environment
        self.isLoopback = isLoopback
        self.agreed = agreed
        self.problem = problem
    }

    private static let alpn = "h2"
    /// Seconds for the connection, and for each read of the handshake.
    private static let timeout = 5

    /// Connects, and makes a TLS handshake as a sender does.
    init(_ listener: StatusMessage.Listener) {
        let (host, port) = PortLook.parts(of: listener.address)
        self.init(
            address: listener.address, environment: listener.environment,
            isLoopback: host.hasPrefix("127.") || host == "::1")
        // A socket for all addresses takes connections on the loopback address too.
        let target = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host
        do throws(RingwakeError) {
            let probe = try PortLook.handshake(target, port)
            agreed = "\(probe.version), \(probe.negotiatedProtocol ?? "no protocol")"
            if probe.negotiatedProtocol != PortLook.alpn { problem = "the server does not speak HTTP/2 (ALPN h2)" }
        } catch {
            problem = error.message
        }
    }

    private static func handshake(_ host: String, _ port: UInt16) throws(RingwakeError) -> TLSProbe {
        var address = sockaddr_storage()
        let length = ringwake_ip_address(host, port, &address)
        let descriptor = length > 0 ? ringwake_blocking_stream_socket(Int32(address.ss_family)) : -1
        guard descriptor >= 0 else {
            throw RingwakeError(.unreachable, "'\(host)' is no address that can be used here")
        }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard ringwake_connect(descriptor, &address, length) == 0 else {
            // What the kernel calls a time-out of SO_SNDTIMEO; the second if the wait was interrupted before.
            let isLate = errno == EINPROGRESS || errno == EALREADY
            let reason = isLate ? "no answer in time" : String(cString: strerror(errno))
            throw RingwakeError(.unreachable, "no connection: \(reason)")
        }
        return try TLSProbe(descriptor: descriptor, alpn: alpn)
    }

    /// Whether another process holds the address.
    static func isTaken(_ address: String) -> Bool {
        let (host, port) = parts(of: address)
        var storage = sockaddr_storage()
        let length = ringwake_ip_address(host, port, &storage)
        let descriptor = length > 0 && port > 0 ? ringwake_blocking_stream_socket(Int32(storage.ss_family)) : -1
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var isOn: Int32 = 1
        // As the daemon does: connections that have ended keep nobody from listening, and IPv4 has a socket of its own.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        if host.contains(":") {
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &isOn, socklen_t(MemoryLayout<Int32>.size))
        }
        return ringwake_bind(descriptor, &storage, length) != 0 && errno == EADDRINUSE
    }

    /// Host without brackets, and port.
    static func parts(of address: String) -> (host: String, port: UInt16) {
        guard let colon = address.lastIndex(of: ":") else { return (address, 0) }
        let host = address[..<colon]
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? host.dropFirst().dropLast() : host
        return (String(bare), UInt16(address[address.index(after: colon)...]) ?? 0)
    }
}

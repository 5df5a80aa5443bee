import CRingwakeLinux
import Glibc
package import RingwakeCore

/// A listening TCP socket, non-blocking.
package struct TCPListeningSocket {
    let descriptor: Int32
    /// The address with the real port, even if port 0 was requested.
    package let localAddress: SocketAddress

    /// Ports below this need a privilege (ip(7), `ip_unprivileged_port_start`).
    private static let firstUnprivilegedPort: UInt16 = 1024

    /// Opens a socket. An IPv6 socket accepts only IPv6, so that `0.0.0.0` and `[::]` don't collide.
    ///
    /// - Parameter isDualStack: an IPv6 socket accepts IPv4 too.
    /// - Throws: `inUse` if the port is taken; `notPermitted` if the privilege for the port is missing; `system`.
    package static func open(
        _ address: SocketAddress, isDualStack: Bool = false
    ) throws(RingwakeError) -> TCPListeningSocket {
        let descriptor = ringwake_stream_socket(address.isIPv6 ? AF_INET6 : AF_INET)
        guard descriptor >= 0 else { throw failure(.last, address) }
        var (storage, length) = address.kernelAddress
        guard ringwake_set_reuse_address(descriptor) == 0,
            !address.isIPv6 || ringwake_set_ipv6_only(descriptor, isDualStack ? 0 : 1) == 0,
            ringwake_bind(descriptor, &storage, length) == 0,
            listen(descriptor, Acceptor.backlog) == 0
        else {
            let error = SystemCallError.last
            close(descriptor)
            throw failure(error, address)
        }
        return TCPListeningSocket(descriptor: descriptor, localAddress: localAddress(of: descriptor) ?? address)
    }

    /// Takes a listening socket that another process opened.
    ///
    /// - Throws: `system` if it isn't a TCP socket.
    package static func adopt(_ descriptor: Int32) throws(RingwakeError) -> TCPListeningSocket {
        guard ringwake_set_nonblocking(descriptor) == 0, let address = localAddress(of: descriptor) else {
            throw RingwakeError(.system, "descriptor \(descriptor) cannot be used: it is not a TCP socket")
        }
        return TCPListeningSocket(descriptor: descriptor, localAddress: address)
    }

    private static func localAddress(of descriptor: Int32) -> SocketAddress? {
        var storage = sockaddr_storage()
        guard ringwake_local_address(descriptor, &storage) == 0 else { return nil }
        return SocketAddress(storage)
    }

    private static func failure(_ error: SystemCallError, _ address: SocketAddress) -> RingwakeError {
        switch error.number {
        case EADDRINUSE:
            return RingwakeError(
                .inUse,
                "cannot listen on \(address): another process holds this address; stop it (`ss -ltnp` names it) "
                    + "or configure another port")
        case EADDRNOTAVAIL:
            return RingwakeError(
                .badConfiguration,
                "cannot listen on \(address): no interface of this machine has the address; "
                    + "configure one that `ip address` shows, or 0.0.0.0 for all")
        case EACCES where address.port < firstUnprivilegedPort:
            return RingwakeError(
                .notPermitted,
                "cannot listen on \(address): ports below \(firstUnprivilegedPort) need a right; give the daemon "
                    + "CAP_NET_BIND_SERVICE or configure a higher port")
        default:
            return RingwakeError(
                .system, "cannot listen on \(address): \(error.reason); check the address and the system's limits")
        }
    }
}

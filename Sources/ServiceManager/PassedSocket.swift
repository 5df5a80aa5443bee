internal import CRingwakeSystemd
internal import Glibc
package import RingwakeCore

/// A listening socket that the service manager opened for this process (systemd.socket(5)).
///
/// The manager keeps a descriptor of its own. So clients that connect while the daemon restarts wait in the socket's
/// backlog, and none is refused.
package struct PassedSocket: Sendable, Equatable {
    /// The name in the `.socket` unit's `FileDescriptorName=`; without that, the unit's own name.
    package let name: String
    /// The descriptor, closed on exec. Whoever takes the socket closes it.
    package let descriptor: Int32

    package init(name: String, descriptor: Int32) {
        self.name = name
        self.descriptor = descriptor
    }

    /// Whether it is a listening unix socket; at this path, if one is given.
    package func isUnixListener(at path: String? = nil) -> Bool {
        guard let path else { return sd_is_socket(descriptor, AF_UNIX, PassedSocket.stream, 1) > 0 }
        return sd_is_socket_unix(descriptor, PassedSocket.stream, 1, path, 0) > 0
    }

    /// Whether it is a listening TCP socket.
    package var isTCPListener: Bool {
        sd_is_socket_inet(descriptor, AF_UNSPEC, PassedSocket.stream, 1, 0) > 0
    }

    /// The sockets that were passed to this process, in the order of the units. Takes the manager's variables out of
    /// the environment, so a second call returns none.
    ///
    /// - Throws: `system` if the manager's variables make no sense (sd_listen_fds(3)).
    package static func takeAll() throws(RingwakeError) -> [PassedSocket] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        guard count >= 0 else {
            throw RingwakeError(
                .system,
                "the sockets that systemd passes cannot be taken: \(String(cString: strerror(-count))); "
                    + "LISTEN_FDS and LISTEN_FDNAMES come from the .socket units")
        }
        defer { free(names) }
        var sockets: [PassedSocket] = []
        // The list ends with a null pointer after `count` names.
        for index in 0..<Int(count) {
            guard let name = names?[index] else { break }
            sockets.append(PassedSocket(name: String(cString: name), descriptor: firstDescriptor + Int32(index)))
            free(name)
        }
        return sockets
    }

    private static let stream = Int32(SOCK_STREAM.rawValue)
    /// `SD_LISTEN_FDS_START`, which is a macro.
    private static let firstDescriptor: Int32 = 3
}

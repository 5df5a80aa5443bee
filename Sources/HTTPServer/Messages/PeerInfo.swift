import CRingwakeLinux
package import Cryptography
import Glibc

/// Who is at the other end of a connection.
package nonisolated struct PeerInfo {
    /// `127.0.0.1:4711`, `[::1]:4711`, or `unix`.
    package var address: String
    /// The client certificate of a TLS connection with what checking it said; nil when the client showed none.
    package var certificate: PeerCertificate?
    /// The process at the other end of a Unix socket; nil on TCP.
    package var credentials: PeerCredentials?

    package init(address: String, certificate: PeerCertificate? = nil, credentials: PeerCredentials? = nil) {
        self.address = address
        self.certificate = certificate
        self.credentials = credentials
    }
}

/// The process that connected to a Unix socket, as the kernel knew it at that time (`SO_PEERCRED`, unix(7)).
package nonisolated struct PeerCredentials: Hashable, Sendable {
    /// The process id; 0 when the process lives in a pid namespace that is hidden from us.
    package var processID: Int32
    /// The effective user id.
    package var userID: UInt32
    /// The effective group id.
    package var groupID: UInt32

    package init(processID: Int32, userID: UInt32, groupID: UInt32) {
        self.processID = processID
        self.userID = userID
        self.groupID = groupID
    }

    /// Who connected to the accepted Unix socket `descriptor`; nil when the kernel does not say.
    init?(of descriptor: Int32) {
        self.init(processID: 0, userID: 0, groupID: 0)
        guard ringwake_peer_credentials(descriptor, &processID, &userID, &groupID) == 0 else { return nil }
    }

    /// Whether it runs as root or as this process's own user.
    package var isOwner: Bool { userID == 0 || userID == geteuid() }
}

import CRingwakeLinux
package import Cryptography
import Glibc

/// The peer of a connection.
package nonisolated struct PeerInfo {
    /// `127.0.0.1:4711`, `[::1]:4711`, or `unix`.
    package var address: String
    /// The client certificate of a TLS connection and the result of its verification; nil if the client showed none.
    package var certificate: PeerCertificate?
    /// The peer process of a Unix socket; nil on TCP.
    package var credentials: PeerCredentials?

    package init(address: String, certificate: PeerCertificate? = nil, credentials: PeerCredentials? = nil) {
        self.address = address
        self.certificate = certificate
        self.credentials = credentials
    }
}

/// The process that connected to a Unix socket, as of that time (`SO_PEERCRED`, unix(7)).
package nonisolated struct PeerCredentials: Hashable, Sendable {
    /// The PID; 0 if the process is in a PID namespace that we can't see.
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

    /// The peer of the accepted Unix socket `descriptor`; nil if the kernel doesn't report it.
    init?(of descriptor: Int32) {
        self.init(processID: 0, userID: 0, groupID: 0)
        guard ringwake_peer_credentials(descriptor, &processID, &userID, &groupID) == 0 else { return nil }
    }

    /// Whether it runs as root or as this process's own user.
    package var isOwner: Bool { userID == 0 || userID == geteuid() }
}

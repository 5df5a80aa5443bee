import CRingwakeLinux
import Glibc

/// The process that connected to a Unix socket, as of that time (unix(7)).
package nonisolated struct PeerCredentials: Sendable {
    /// The PID; 0 if the process is in a PID namespace that we can't see.
    package let processID: Int32
    /// The effective user id.
    package let userID: UInt32
    /// The effective group id.
    package let groupID: UInt32
    /// For the kernel's further answers. Not valid after the accept.
    private let descriptor: Int32

    /// The peer of the accepted Unix socket `descriptor`; nil if the kernel doesn't report it.
    init?(of descriptor: Int32) {
        var (process, user, group): (Int32, UInt32, UInt32) = (0, 0, 0)
        guard ringwake_peer_credentials(descriptor, &process, &user, &group) == 0 else { return nil }
        (processID, userID, groupID) = (process, user, group)
        self.descriptor = descriptor
    }

    /// Whether it runs as root or as this process's own user.
    package var isOwner: Bool { userID == 0 || userID == geteuid() }

    /// Whether it was in a group, by its effective group or a supplementary one. To be asked while it is accepted.
    package func isMember(of group: UInt32) -> Bool {
        if groupID == group { return true }
        let others = PeerCredentials.ask(descriptor, PeerCredentials.peerGroups, count: PeerCredentials.maximumGroups)
        return others?.contains(group) == true
    }

    /// `SO_PEERGROUPS`, and `SO_PEERPIDFD` since Linux 6.5; Debian 12's headers don't have that.
    private static let (peerGroups, peerPidfd): (Int32, Int32) = (59, 77)
    /// Of a peer with more groups none is seen.
    private static let maximumGroups = 1024

    /// The numbers that the kernel has for an option of the socket; nil, with errno, if it has none.
    private static func ask(_ descriptor: Int32, _ option: Int32, count: Int) -> [UInt32]? {
        var numbers = [UInt32](repeating: 0, count: count)
        var length = socklen_t(count * MemoryLayout<UInt32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, option, &numbers, &length) == 0 else { return nil }
        return Array(numbers.prefix(Int(length) / MemoryLayout<UInt32>.size))
    }

    /// What `read` finds out about the PID, if it is still the peer's when `read` returns: another process may have a
    /// dead one's PID. To be asked while it is accepted.
    ///
    /// - Returns: nil if the peer has ended, or its PID isn't known.
    package func whileItRuns<Fact>(_ read: (_ pid: Int32) -> Fact?) -> Fact? {
        guard processID > 0 else { return nil }
        let found = PeerCredentials.ask(descriptor, PeerCredentials.peerPidfd, count: 1)?.first
        var pidfd = found.map { Int32(bitPattern: $0) } ?? -1
        // Before Linux 6.5: of the process that has the PID now, a moment after the peer connected.
        if pidfd < 0, errno == ENOPROTOOPT { pidfd = ringwake_pidfd_open(processID) }
        // Before Linux 5.3, or in a sandbox, there is no descriptor to ask.
        guard pidfd >= 0 else { return errno == ENOSYS || errno == EPERM ? read(processID) : nil }
        defer { close(pidfd) }
        let fact = read(processID)
        // Readable: the process has ended (pidfd_open(2)).
        var state = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        return poll(&state, 1, 0) == 0 ? fact : nil
    }
}

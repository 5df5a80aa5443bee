internal import CRingwakeNetlink
internal import Glibc

/// Network namespaces, by the number that the kernel gives each (SO_NETNS_COOKIE, Linux 5.14). It is the same for all
/// processes of the machine, whatever they may see of each other, and no later namespace gets it.
package enum NetworkNamespace {
    /// The namespace of the calling thread; nil if the kernel doesn't say.
    package static func current() -> UInt64? {
        let descriptor = ringwake_netlink_open()
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return cookie(of: descriptor)
    }

    /// The namespace of a socket; nil if the kernel doesn't say.
    static func cookie(of descriptor: Int32) -> UInt64? {
        var cookie: UInt64 = 0
        var size = socklen_t(MemoryLayout<UInt64>.size)
        let isKnown = getsockopt(descriptor, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) == 0
        return isKnown && size == MemoryLayout<UInt64>.size ? cookie : nil
    }
}

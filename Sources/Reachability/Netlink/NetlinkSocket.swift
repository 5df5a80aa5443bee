internal import CRingwakeLinux
internal import CRingwakeNetlink
internal import Glibc

/// A non-blocking rtnetlink socket, and its receive buffer.
final class NetlinkSocket {
    /// Bytes of the buffer: the kernel puts at most 32 KiB of a dump into one datagram.
    static let bufferBytes = 32 << 10

    let descriptor: Int32
    private let buffer: UnsafeMutableRawBufferPointer

    /// - Throws: `system`: the kernel refuses a socket.
    init(bufferBytes: Int = bufferBytes) throws(ReachabilityError) {
        descriptor = ringwake_netlink_open()
        buffer = .allocate(byteCount: bufferBytes, alignment: 16)
        guard descriptor >= 0 else {
            throw ReachabilityError(
                call: "socket(AF_NETLINK)", errno: errno,
                advice: "allow more descriptors, or allow AF_NETLINK (systemd: RestrictAddressFamilies=).")
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        buffer.deallocate()
    }

    /// The result of one `recvmsg`.
    enum Reception {
        /// From the kernel. The bytes are valid until the next reception.
        case datagram(UnsafeRawBufferPointer)
        /// From another sender; dropped.
        case foreign
        /// Longer than the buffer; the rest is lost.
        case truncated
        /// Nothing more for now.
        case empty
        /// An `errno`.
        case failure(Int32)
    }

    /// Receives one datagram, without waiting.
    func receive() -> Reception {
        var sender: UInt32 = 0
        var flags: Int32 = 0
        let length = ringwake_netlink_receive(descriptor, buffer.baseAddress, buffer.count, &sender, &flags)
        guard length >= 0 else { return errno == EAGAIN ? .empty : .failure(errno) }
        // Any process with CAP_NET_ADMIN can send to this port, and to the groups; only the kernel has port 0.
        guard sender == 0 else { return .foreign }
        guard flags & Int32(MSG_TRUNC) == 0 else { return .truncated }
        return .datagram(UnsafeRawBufferPointer(rebasing: buffer.prefix(length)))
    }

    /// Sets an option of netlink (`NETLINK_*`). Returns 0, or an `errno`.
    func setOption(_ option: Int32, _ value: Int32) -> Int32 {
        ringwake_netlink_set_option(descriptor, option, value) == 0 ? 0 : errno
    }
}

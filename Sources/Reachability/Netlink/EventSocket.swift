internal import CRingwakeLinux
internal import CRingwakeNetlink
internal import Glibc

/// The socket that the kernel tells of changes on.
///
/// A filter is attached to ``descriptor`` before ``join()``: what came before it would be unfiltered.
final class EventSocket {
    /// What was received at once.
    struct Batch {
        var events: [KernelEvent] = []
        /// Messages of the kernel, also those that tell of nothing.
        var messages = 0
        /// Datagrams that did not come from the kernel, and were dropped.
        var foreign = 0
        /// Something was lost: everything has to be read anew.
        var isOverrun = false
        /// The limit was reached; there may be more.
        var isMore = false
        /// The `errno` that ended it, other than what is said above.
        var failure: Int32?
    }

    /// Bytes that wait for us in the kernel, which doubles the number for its own overhead.
    private static let receiveBufferBytes: Int32 = 256 << 10

    private let socket: NetlinkSocket

    /// - Throws: `system`: the kernel gives no socket.
    init(
        receiveBufferBytes: Int32 = receiveBufferBytes, bufferBytes: Int = NetlinkSocket.bufferBytes
    ) throws(ReachabilityError) {
        socket = try NetlinkSocket(bufferBytes: bufferBytes)
        // Beyond net.core.rmem_max it becomes that; never an error.
        guard ringwake_set_option(socket.descriptor, SOL_SOCKET, SO_RCVBUF, receiveBufferBytes) == 0 else {
            throw ReachabilityError(
                call: "setsockopt(SO_RCVBUF)", errno: errno, advice: "allow it in the seccomp filter.")
        }
    }

    /// Open as long as this object is there.
    var descriptor: Int32 { socket.descriptor }

    /// The groups whose changes can matter. The last came with Linux 5.3.
    private static let groups = [
        RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
        RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, RTNLGRP_NEXTHOP,
    ]

    /// Begins to receive.
    /// - Throws: `system`: the kernel refuses a group.
    func join() throws(ReachabilityError) {
        for group in Self.groups {
            let code = socket.setOption(NETLINK_ADD_MEMBERSHIP, Int32(bitPattern: group.rawValue))
            // A kernel without nexthop objects has no routes by them either.
            guard code == 0 || (group == RTNLGRP_NEXTHOP && code == EINVAL) else {
                throw ReachabilityError(
                    call: "setsockopt(NETLINK_ADD_MEMBERSHIP, \(group.rawValue))", errno: code,
                    advice: "allow it in the seccomp filter.")
            }
        }
    }

    /// Datagrams that are forgotten after an overrun at most: more than the kernel keeps in its buffer.
    private static let maximumDiscarded = 4_096

    /// Forgets what waits. It is older than what is read anew after an overrun, and what followed from it may be lost:
    /// taken in later, a link that went down and came up again would stay down.
    private func discard() {
        for _ in 0..<Self.maximumDiscarded {
            switch socket.receive() {
            case .datagram, .foreign, .truncated, .failure(ENOBUFS), .failure(EINTR): continue
            case .empty, .failure: return
            }
        }
    }

    /// Takes what there is, up to a number of datagrams; after an overrun all there is.
    func receive(maximumDatagrams: Int) -> Batch {
        var batch = Batch()
        var found = KernelEvents()
        batch.isMore = true
        loop: for _ in 0..<max(0, maximumDatagrams) {
            switch socket.receive() {
            case .datagram(let bytes): found.add(bytes)
            case .foreign: batch.foreign += 1
            case .truncated, .failure(ENOBUFS): batch.isOverrun = true
            case .failure(EINTR): continue
            case .empty:
                batch.isMore = false
                break loop
            case .failure(let code):
                batch.isMore = false
                batch.failure = code
                break loop
            }
        }
        if batch.isOverrun {
            discard()
            batch.isMore = false
        }
        batch.events = found.events
        batch.messages = found.messages
        return batch
    }
}

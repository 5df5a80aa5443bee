internal import CRingwakeLinux
internal import CRingwakeNetlink
internal import Glibc

/// The socket on which the kernel reports changes.
///
/// Attach a filter to ``descriptor`` before ``join()``, or the first messages arrive unfiltered.
final class EventSocket {
    /// The result of one read.
    struct Batch {
        var events: [KernelEvent] = []
        /// Messages of the kernel, including those without an event.
        var messages = 0
        /// Datagrams that did not come from the kernel, and were dropped.
        var foreign = 0
        /// Messages were lost: everything has to be read again.
        var isOverrun = false
        /// The limit was reached; there may be more.
        var isMore = false
        /// The `errno` that ended it, except for an overrun.
        var failure: Int32?
    }

    /// Bytes of the kernel's receive buffer, which the kernel doubles for its own overhead.
    private static let receiveBufferBytes: Int32 = 256 << 10

    private let socket: NetlinkSocket

    /// - Throws: `system`: the kernel refuses a socket.
    init(
        receiveBufferBytes: Int32 = receiveBufferBytes, bufferBytes: Int = NetlinkSocket.bufferBytes
    ) throws(ReachabilityError) {
        socket = try NetlinkSocket(bufferBytes: bufferBytes)
        // The kernel limits it to net.core.rmem_max, without an error.
        guard ringwake_set_option(socket.descriptor, SOL_SOCKET, SO_RCVBUF, receiveBufferBytes) == 0 else {
            throw ReachabilityError(
                call: "setsockopt(SO_RCVBUF)", errno: errno, advice: "allow it in the seccomp filter.")
        }
    }

    /// Open while this object exists.
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

    /// Maximum datagrams to discard after an overrun: more than the kernel's buffer holds.
    private static let maximumDiscarded = 4_096

    /// Discards the waiting messages. They are older than what is read again after an overrun, and later messages may
    /// be lost: with them, a link that went down and came up again would stay down.
    private func discard() {
        for _ in 0..<Self.maximumDiscarded {
            switch socket.receive() {
            case .datagram, .foreign, .truncated, .failure(ENOBUFS), .failure(EINTR): continue
            case .empty, .failure: return
            }
        }
    }

    /// Receives up to `maximumDatagrams` datagrams. After an overrun, discards the rest.
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

import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

/// A socket that hears what the monitor's does, through a filter of one level, and says which messages came.
final class EventProbe {
    private static let groups = [
        RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
        RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, RTNLGRP_NEXTHOP,
    ]
    /// Bytes: enough for what the tests do, as none may be lost.
    private static let receiveBuffer: Int32 = 16 << 20

    let level: Int
    private let descriptor: Int32

    /// Listens in the namespace of the calling thread.
    init(level: Int, scope: FilterScope = FilterScope()) throws {
        self.level = level
        descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), NETLINK_ROUTE)
        try #require(descriptor >= 0)
        var size = Self.receiveBuffer
        try #require(setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &size, 4) == 0)
        let attached = try FilterAttachment.attach(scope, wanted: level, to: descriptor)
        try #require(attached.level == level, "\(attached.why ?? "")")
        // Until it has an address of its own, the kernel takes it for the sender and leaves it out.
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        let length = socklen_t(MemoryLayout<sockaddr_nl>.size)
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
        }
        try #require(isBound)
        for group in Self.groups {
            var number = group.rawValue
            try #require(setsockopt(descriptor, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &number, 4) == 0)
        }
    }

    deinit { close(descriptor) }

    /// One for each level, 0 to 4.
    static func all(_ scope: FilterScope) throws -> [EventProbe] {
        try (0...FilterCompiler.maximumLevel).map { try EventProbe(level: $0, scope: scope) }
    }

    /// What a message is of.
    struct Message {
        let type: Int
        /// That of the link, of a link or an address.
        let index: UInt32
    }

    /// What came since the last call. The kernel sends it before a command ends, but for what follows from a carrier,
    /// such as a link-local address.
    func messages() throws -> [Message] {
        var messages: [Message] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count >= 0 else {
                try #require(errno == EAGAIN, "messages were lost, or could not be read: errno \(errno)")
                return messages
            }
            try #require(count >= 24)
            messages.append(
                buffer.withUnsafeBytes {
                    Message(
                        type: Int($0.loadUnaligned(fromByteOffset: 4, as: UInt16.self)),
                        index: $0.loadUnaligned(fromByteOffset: 20, as: UInt32.self))
                })
        }
    }
}

extension [EventProbe] {
    /// Forgets what came so far.
    func clear() throws {
        for probe in self { _ = try probe.messages() }
    }

    /// How many messages came, by level.
    func counts(where isCounted: (EventProbe.Message) -> Bool) throws -> [Int] {
        try map { try $0.messages().count(where: isCounted) }
    }

    /// How many messages of these types came, by level.
    func counts(_ types: Int...) throws -> [Int] {
        try counts { types.contains($0.type) }
    }
}

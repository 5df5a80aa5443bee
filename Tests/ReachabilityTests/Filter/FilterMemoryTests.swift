import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

/// How many bytes a socket may have for filters and the like: `net.core.optmem_max` of the thread's namespace.
private enum SocketMemory {
    private static let file = "/proc/sys/net/core/optmem_max"

    static let isAvailable: Bool = {
        do {
            try NetworkNamespace.run { _ in try allow(65_536) }
            return true
        } catch {
            return false
        }
    }()

    static func allow(_ bytes: Int) throws {
        let descriptor = open(file, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandFailure.system(file, errno) }
        defer { close(descriptor) }
        let text = Array("\(bytes)".utf8)
        guard write(descriptor, text, text.count) == text.count else { throw CommandFailure.system(file, errno) }
    }
}

@Suite(
    "A filter that the kernel has no room for",
    .enabled(
        if: SocketMemory.isAvailable,
        "needs root, and a kernel where net.core.optmem_max belongs to the network namespace"))
struct FilterMemoryTests {
    private static func withSocket<Result>(_ body: (Int32) throws -> Result) throws -> Result {
        let descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), NETLINK_ROUTE)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        return try body(descriptor)
    }

    private static let large = FilterScope(
        destinations: Set((0..<500).map { IPAddress(ipv4: $0 << 16) }), interfaces: Set(1...20))
    private static let small = FilterScope(interfaces: [1, 2])

    /// The bytes that level 4 of the large scope takes on a socket without a filter.
    private static func need() throws -> Int {
        var (tooFew, enough) = (0, 131_072)
        while enough - tooFew > 64 {
            let middle = (tooFew + enough) / 2
            try SocketMemory.allow(middle)
            let level = try withSocket { try FilterAttachment.attach(large, wanted: 4, to: $0).level }
            if level == 4 { enough = middle } else { tooFew = middle }
        }
        return enough
    }

    @Test("is of a lower level, says so, and is of the wanted one again when there is room")
    func lower() throws {
        try NetworkNamespace.run { _ in
            try Self.withSocket { descriptor in
                try SocketMemory.allow(6_000)
                var attached = try FilterAttachment.attach(Self.large, wanted: 4, to: descriptor)
                #expect(attached.level == 2)
                let why = "the kernel refused level 4: Cannot allocate memory (net.core.optmem_max)"
                #expect(attached.why == why)
                try SocketMemory.allow(65_536)
                attached = try FilterAttachment.attach(Self.large, wanted: 4, to: descriptor)
                #expect(attached.level == 4)
                #expect(attached.why == nil)
            }
        }
    }

    @Test("is none at all when there is no room for any, and the old one is gone")
    func none() throws {
        try NetworkNamespace.run { _ in
            try Self.withSocket { descriptor in
                try SocketMemory.allow(65_536)
                _ = try FilterAttachment.attach(Self.small, wanted: 4, to: descriptor)
                try SocketMemory.allow(1)
                let attached = try FilterAttachment.attach(Self.small, wanted: 4, to: descriptor)
                #expect(attached.level == 0)
                #expect(attached.why?.hasPrefix("the kernel refused level 4") == true)
                var count: socklen_t = 0
                #expect(getsockopt(descriptor, SOL_SOCKET, SO_GET_FILTER, nil, &count) == 0)
                #expect(count == 0)
            }
        }
    }

    @Test("replaces an old one of the same size, though there is not room for both at once")
    func replace() throws {
        try NetworkNamespace.run { _ in
            try SocketMemory.allow(Self.need() * 3 / 2)
            try Self.withSocket { descriptor in
                for _ in 1...3 {
                    let attached = try FilterAttachment.attach(Self.large, wanted: 4, to: descriptor)
                    #expect(attached.level == 4)
                    #expect(attached.why == nil)
                }
            }
        }
    }
}

import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite("A filter that is attached")
struct FilterAttachmentTests {
    private func withSocket(_ body: (Int32) throws -> Void) throws {
        let descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), NETLINK_ROUTE)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try body(descriptor)
    }

    /// How many instructions the kernel has of a socket's filter; 0 for none.
    private func installed(on descriptor: Int32) -> Int {
        var count: socklen_t = 0
        return getsockopt(descriptor, SOL_SOCKET, SO_GET_FILTER, nil, &count) == 0 ? Int(count) : -1
    }

    @Test("is of the level that was asked for", arguments: 1...4)
    func wanted(level: Int) throws {
        try withSocket { descriptor in
            let scope = FilterScope(destinations: [IPAddress(ipv4: 1)], interfaces: [1, 2])
            let attached = try FilterAttachment.attach(scope, wanted: level, to: descriptor)
            #expect(attached.level == level)
            #expect(attached.why == nil)
            #expect(attached.instructions == FilterCompiler.program(level: level, scope: scope)?.instructions.count)
            #expect(installed(on: descriptor) == attached.instructions)
        }
    }

    @Test("goes when level 0 is asked for, also when there is none")
    func none() throws {
        try withSocket { descriptor in
            _ = try FilterAttachment.attach(FilterScope(), wanted: 4, to: descriptor)
            for _ in 1...2 {
                let attached = try FilterAttachment.attach(FilterScope(), wanted: 0, to: descriptor)
                #expect(attached == AttachedFilter(level: 0, instructions: 0, why: nil))
                #expect(installed(on: descriptor) == 0)
            }
        }
    }

    @Test("is of the nearest level when the one asked for is beyond")
    func beyond() throws {
        try withSocket { descriptor in
            let above = try FilterAttachment.attach(FilterScope(), wanted: 9, to: descriptor)
            let below = try FilterAttachment.attach(FilterScope(), wanted: -1, to: descriptor)
            #expect(above.level == 4)
            #expect(below.level == 0)
        }
    }

    @Test("is of a lower level when there are too many interfaces or destinations, and says so")
    func tooLong() throws {
        try withSocket { descriptor in
            var scope = FilterScope(interfaces: Set(1...6_000))
            var attached = try FilterAttachment.attach(scope, wanted: 4, to: descriptor)
            #expect(attached.level == 3)
            let why = try #require(attached.why)
            #expect(why.hasPrefix("level 4 needs 6,") && why.hasSuffix(" instructions, 4,096 are allowed"))
            scope.destinations = Set((0..<3_000).map { IPAddress(ipv4: $0) })
            attached = try FilterAttachment.attach(scope, wanted: 4, to: descriptor)
            #expect(attached.level == 2)
            #expect(attached.why?.hasPrefix("level 4 needs 12,") == true)
        }
    }

    @Test("cannot be had on what is no socket")
    func noSocket() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let error = #expect(throws: ReachabilityError.self) {
            try FilterAttachment.attach(FilterScope(), wanted: 4, to: ends[0])
        }
        #expect(error?.errno == ENOTSOCK)
    }

    @Test("cannot be changed on a locked socket, which is told, as the old one still drops messages")
    func locked() throws {
        try withSocket { descriptor in
            _ = try FilterAttachment.attach(FilterScope(), wanted: 1, to: descriptor)
            var isLocked: Int32 = 1
            try #require(setsockopt(descriptor, SOL_SOCKET, SO_LOCK_FILTER, &isLocked, 4) == 0)
            let error = #expect(throws: ReachabilityError.self) {
                try FilterAttachment.attach(FilterScope(), wanted: 4, to: descriptor)
            }
            #expect(error?.errno == EPERM)
        }
    }
}

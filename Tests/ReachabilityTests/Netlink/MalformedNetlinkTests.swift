import CRingwakeNetlink
import Testing

@testable import Reachability

@Suite("Messages that are no messages")
struct MalformedNetlinkTests {
    private let memory: GuardedMemory

    init() throws {
        memory = try GuardedMemory()
    }

    /// Decodes a datagram in every way there is.
    /// - Returns: How many messages it has.
    private func decode(_ bytes: ArraySlice<UInt8>) -> Int {
        let datagram = memory.place(bytes)
        var events = KernelEvents()
        events.add(datagram)
        for message in NetlinkMessages(datagram) {
            _ = RouteAnswer(message)
            _ = LinkFacts(message)
            _ = AddressFacts(message)
            _ = message.errorNumber
        }
        return events.messages
    }

    @Test("The fixtures are there")
    func present() {
        #expect(NetlinkFixture.names.count > 30)
        for name in NetlinkFixture.names { #expect(decode(NetlinkFixture.bytes(name)[...]) >= 1) }
    }

    @Test("A datagram cut at any place is read no further", arguments: NetlinkFixture.names)
    func truncated(_ name: String) {
        let bytes = NetlinkFixture.bytes(name)
        #expect(bytes.indices.allSatisfy { decode(bytes[..<$0]) <= 1 })
    }

    @Test("A message that says that it is shorter than it is, is read no further", arguments: NetlinkFixture.names)
    func shortened(_ name: String) {
        var bytes = NetlinkFixture.bytes(name)
        for length in MemoryLayout<nlmsghdr>.size..<bytes.count {
            withUnsafeBytes(of: UInt32(length)) { bytes.replaceSubrange(0..<4, with: $0) }
            guard decode(bytes[..<length]) == 1 else {
                Issue.record("\(length) bytes are no message")
                return
            }
        }
    }

    @Test("Any byte may be another", arguments: NetlinkFixture.names)
    func mutated(_ name: String) {
        let bytes = NetlinkFixture.bytes(name)
        let most = bytes.count / MemoryLayout<nlmsghdr>.size
        for position in bytes.indices {
            var changed = bytes
            // Lengths around the least that there are, and signs.
            for value in [0, 3, 5, 0x80, 0xff, bytes[position] ^ 1, bytes[position] &+ 4] {
                changed[position] = value
                guard decode(changed[...]) <= most else {
                    Issue.record("byte \(position) as \(value) makes messages out of nothing")
                    return
                }
            }
        }
    }

    @Test("A length of 0 ends the datagram")
    func zeroLength() {
        let nothing = [UInt8](repeating: 0, count: 64)
        #expect(decode(nothing[...]) == 0)
        #expect(decode((NetlinkFixture.bytes("link-gone") + nothing)[...]) == 1)
    }

    @Test("An attribute of length 0 ends the attributes")
    func zeroAttribute() {
        var bytes = NetlinkFixture.bytes("link-veth")
        let first = MemoryLayout<nlmsghdr>.size + MemoryLayout<ifinfomsg>.size
        bytes.replaceSubrange(first..<(first + 4), with: [0, 0, 0, 0])
        #expect(NetlinkFixture.events(bytes).events.isEmpty)
    }
}

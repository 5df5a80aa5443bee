import CRingwakeLinux
import DBus
import Glibc
import RunLoop
import Testing

/// Descriptors in messages.
@Suite(.serialized) struct DescriptorTests {
    @Test("A received descriptor can be read, is close-on-exec, and closes with its last reference")
    func received() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        let peer = try bus.startPeer()
        let connection = try bus.connect()
        var result: Result<[DBusValue], DBusError>? = try bus.loop.result {
            connection.callPeer("Descriptor", [], $0)
        }
        let number = try #require(try result?.get().first?.descriptor?.number)
        #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(number, &buffer, buffer.count)
        #expect(String(decoding: buffer.prefix(max(0, count)), as: UTF8.self) == "from the peer")
        result = nil
        result = try bus.loop.result { connection.callPeer("Inhibit", [], $0) }
        #expect(try result?.get().first?.descriptor != nil)
        bus.loop.drive(for: .milliseconds(30))
        #expect(!peer.output.contains("released"))
        result = nil
        #expect(bus.loop.drive { peer.output.contains("released") })
    }

    @Test("A received descriptor can be closed early, while values that hold it live on")
    func closedEarly() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        let peer = try bus.startPeer()
        let connection = try bus.connect()
        let values = try bus.loop.result { connection.callPeer("Inhibit", [], $0) }.get()
        let descriptor = try #require(values.first?.descriptor)
        descriptor.close()
        descriptor.close()
        #expect(descriptor.number == -1)
        #expect(bus.loop.drive { peer.output.contains("released") })
        #expect(values.first?.descriptor?.number == -1)
    }

    @Test("A descriptor in the reply of a cancelled call is not kept")
    func cancelled() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        let peer = try bus.startPeer()
        let connection = try bus.connect()
        #expect(bus.loop.drive { connection.isOpen })
        connection.callPeer("Inhibit") { _ in Issue.record("told") }.cancel()
        #expect(bus.loop.drive { peer.output.contains("released") })
    }

    @Test("A descriptor is copied when the call is made, before the bus has answered")
    func sent() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        var ends: [Int32] = [-1, -1]
        #expect(ringwake_pipe(&ends, 0) == 0)
        _ = write(ends[1], "from us", 7)
        let result = try bus.loop.result { completion in
            connection.callPeer("Read", [.unixFD(DBusFileDescriptor(borrowing: ends[0]))], completion)
            close(ends[0])
            close(ends[1])
        }
        #expect(result == .success([.string("from us")]))
    }

    @Test("Calls with descriptors leave none behind")
    func noneLeaks() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        // Each is the same pipe end of the peer's, so that a leak here shows as descriptors to one file.
        var inodes: Set<UInt> = []
        for _ in 0..<50 {
            let values = try bus.loop.result { connection.callPeer("Descriptor", [], $0) }.get()
            let number = try #require(values.first?.descriptor?.number)
            var facts = stat()
            #expect(fstat(number, &facts) == 0)
            inodes.insert(UInt(facts.st_ino))
        }
        var open = 0
        for number in Int32(3)..<1024 {
            var facts = stat()
            if fstat(number, &facts) == 0, inodes.contains(UInt(facts.st_ino)) { open += 1 }
        }
        #expect(open == 0)
    }
}

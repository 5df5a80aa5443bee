import DBus
import RunLoop
import Testing

/// Buses and peers that send what they should not, or nothing.
@Suite(.serialized) struct HostileBusTests {
    @Test(
        "A bus that listens and does not answer, at whichever step, is given up after a time",
        arguments: ["unaccepted", "mute"])
    func silent(behaviour: String) throws {
        let bus = try TestBus(isStarted: false)
        defer { bus.stop() }
        try bus.startRawBus(behaviour)
        let connection = try bus.connect(patience: .milliseconds(200))
        var told: [String] = []
        connection.onClose = { told.append($0.name) }
        connection.callPeer("Echo") { told.append($0.failure?.name ?? "answered") }
        connection.callPeer("Echo", timeout: .milliseconds(50)) { told.append($0.failure?.name ?? "answered") }
        #expect(bus.loop.drive { told.count == 3 })
        #expect(told == [DBusError.noReply, DBusError.noServer, DBusError.noServer])
    }

    @Test("A bus whose backlog is full is not waited for")
    func full() throws {
        let bus = try TestBus(isStarted: false)
        defer { bus.stop() }
        try bus.startRawBus("full")
        #expect(throws: DBusError.self) { try bus.connect() }
    }

    @Test(
        "A bus that refuses us, or sends what is no answer, is lost with a reason",
        arguments: [("refuse", "refuses this user"), ("garbage", "no message"), ("first", "no message")])
    func refusing(behaviour: String, reason: String) throws {
        let bus = try TestBus(isStarted: false)
        defer { bus.stop() }
        try bus.startRawBus(behaviour)
        let connection = try bus.connect()
        var error: DBusError?
        connection.onClose = { error = $0 }
        #expect(bus.loop.drive { error != nil })
        #expect(error?.name == DBusError.noServer)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test(
        "A bus that sends what is no message is lost, and the call fails",
        arguments: ["garbage-later"])
    func malformedMessage(behaviour: String) throws {
        let bus = try TestBus(isStarted: false)
        defer { bus.stop() }
        try bus.startRawBus(behaviour)
        let connection = try bus.connect()
        let result = try bus.loop.result { connection.callPeer("Echo", [], $0) }
        #expect(result.failure?.name == DBusError.disconnected)
        #expect(connection.isClosed)
    }

    @Test("A reply whose arguments are none fails the call", arguments: ["body", "utf8"])
    func malformedBody(behaviour: String) throws {
        let bus = try TestBus(isStarted: false)
        defer { bus.stop() }
        try bus.startRawBus(behaviour)
        let connection = try bus.connect()
        let result = try bus.loop.result { connection.callPeer("Echo", [], $0) }
        #expect(result.failure?.name == DBusError.invalidArguments)
        #expect(connection.isOpen)
    }

    @Test(
        "Half a message, one with a bad signature, and a signal that names a call complete no call",
        arguments: ["partial", "signature", "reply-signal"])
    func incomplete(behaviour: String) throws {
        let bus = try TestBus(isStarted: false)
        defer { bus.stop() }
        try bus.startRawBus(behaviour)
        let connection = try bus.connect()
        #expect(bus.loop.drive { connection.isOpen })
        let result = try bus.loop.result { connection.callPeer("Echo", [], timeout: .milliseconds(200), $0) }
        #expect(result.failure?.name == DBusError.noReply)
        #expect(connection.isOpen)
    }

    @Test(
        "A reply of 100 MB, or that says so, fails its call at once and is never held; the next call is answered",
        arguments: ["huge", "huge-big-endian", "announced"])
    func huge(behaviour: String) throws {
        let bus = try TestBus(isStarted: false)
        defer { bus.stop() }
        try bus.startRawBus(behaviour)
        let connection = try bus.connect()
        #expect(bus.loop.drive { connection.isOpen })
        var result: Result<[DBusValue], DBusError>?
        var next: Result<[DBusValue], DBusError>?
        connection.callPeer("Echo", []) { result = $0 }
        connection.callPeer("Echo", []) { next = $0 }
        #expect(bus.loop.drive { result != nil && (next != nil || behaviour == "announced") })
        #expect(result?.failure?.name == DBusError.limitsExceeded)
        // Said by the gate, so sd-bus never had it.
        #expect(result?.failure?.message.hasPrefix("the reply has ") == true)
        if behaviour != "announced" { #expect(next == .success([.string("next")])) }
        #expect(connection.isOpen)
    }

    @Test("A reply that comes byte by byte is one reply")
    func dribble() throws {
        let bus = try TestBus(isStarted: false)
        defer { bus.stop() }
        try bus.startRawBus("dribble")
        let connection = try bus.connect()
        let result = try bus.loop.result { connection.callPeer("Echo", [], $0) }
        #expect(result == .success([.string("next")]))
    }

    @Test("A bus that does not read is not written to without end")
    func deaf() throws {
        let bus = try TestBus(isStarted: false)
        defer { bus.stop() }
        try bus.startRawBus("deaf")
        let connection = try bus.connect()
        #expect(bus.loop.drive { connection.isOpen })
        var refusal: DBusError?
        let text = DBusValue.string(String(repeating: "x", count: 1_000))
        for _ in 0..<10_000 where refusal == nil {
            refusal = connection.send(
                destination: "org.example.Peer", path: "/", interface: "org.example.Peer", member: "A",
                arguments: [text])
        }
        #expect(refusal?.name == DBusError.limitsExceeded)
        #expect(connection.isOpen)
    }

    @Test("Replies with too many values, too much text or too many levels are errors; the largest allowed are read")
    func limits() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        func reply(_ member: String, _ count: Int) throws -> Result<[DBusValue], DBusError> {
            try bus.loop.result { connection.callPeer(member, [.uint32(UInt32(count))], $0) }
        }
        // The array itself is a value too.
        let many = try reply("Many", DBusLimits.maximumValues - 1).get()
        #expect(many.first?.elements?.count == DBusLimits.maximumValues - 1)
        #expect(try reply("Many", DBusLimits.maximumValues).failure?.name == DBusError.limitsExceeded)
        let text = try reply("Text", DBusLimits.maximumTextBytes).get()
        #expect(text.first?.text?.utf8.count == DBusLimits.maximumTextBytes)
        #expect(try reply("Text", DBusLimits.maximumTextBytes + 1).failure?.name == DBusError.limitsExceeded)
        let deep = try reply("Deep", DBusLimits.maximumDepth).get()
        #expect(deep.first?.unwrapped == .int32(1))
        #expect(try reply("Deep", DBusLimits.maximumDepth + 1).failure?.name == DBusError.limitsExceeded)
        #expect(try reply("Text", 1) == .success([.string("x")]))
    }

    @Test("A method that is called here is answered with an error")
    func methodCall() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        #expect(bus.loop.drive { connection.isOpen })
        let name = try #require(connection.uniqueName)
        let result = try bus.loop.result { connection.callPeer("CallBack", [.string(name), .string("/a")], $0) }
        #expect(result.failure?.name == "org.freedesktop.DBus.Error.UnknownObject")
    }
}

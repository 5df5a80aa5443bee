import DBus
import RunLoop
import Testing

/// Method calls over a real bus, to a service in Python.
@Suite(.serialized) struct CallTests {
    @Test("A value of each type goes to the peer and comes back")
    func echo() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        let values: [DBusValue] = [
            .byte(255), .bool(true), .bool(false), .int16(-32_768), .uint16(65_535), .int32(.min), .uint32(.max),
            .int64(.min), .uint64(.max), .double(-0.1), .string("Zoë 📞"), .string(""), .objectPath("/a/b_1"),
            .signature("a{sv}"), .strings(["a", ""]), .strings([]),
            .array("(si)", [.structure([.string("x"), .int32(1)])]),
            .structure([.byte(1), .structure([.string("in"), .strings(["a"])])]),
            .properties(["urgency": .byte(2), "nested": .properties(["a": .bool(false)])]),
            .dictionary("u", "as", [DBusEntry(key: .uint32(1), value: .strings(["b"]))]),
            .dictionary("s", "v", []),
        ]
        for value in values {
            let result = try bus.loop.result { connection.callPeer("Echo", [.variant(value)], $0) }
            #expect(result == .success([.variant(value)]))
        }
        let described = try bus.loop.result { connection.callPeer("Describe", [.variant(.uint16(7))], $0) }
        #expect(described == .success([.string("dbus.UInt16(7, variant_level=1)")]))
    }

    @Test("An error of the peer comes with its name and text, the text cleaned and cut")
    func peerError() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        func fail(_ text: String) throws -> DBusError? {
            try bus.loop.result {
                connection.callPeer("Fail", [.string("org.example.Error.No"), .string(text)], $0)
            }.failure
        }
        #expect(try fail("not today") == DBusError(name: "org.example.Error.No", message: "not today"))
        #expect(try fail("a\u{1B}[31m\nb")?.message == "a\u{FFFD}[31m\u{FFFD}b")
        let long = try #require(try fail(String(repeating: "é", count: 10_000)))
        #expect(long.message.unicodeScalars.count == DBusError.maximumMessageScalars)
    }

    @Test("What nobody offers is an error of the bus; a service that can be started is, unless that is forbidden")
    func absentAndStarted() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        let connection = try bus.connect()
        let absent = try bus.loop.result { connection.callPeer("Echo", [], name: "org.example.Absent", $0) }
        #expect(absent.failure?.name == DBusError.serviceUnknown)
        #expect(absent.failure?.isServiceAbsent == true)
        let name = "org.example.Started"
        let asleep = try bus.loop.result {
            connection.callPeer("Echo", [.variant(.byte(1))], name: name, autoStart: false, $0)
        }
        #expect(asleep.failure?.isServiceAbsent == true)
        let started = try bus.loop.result { connection.callPeer("Echo", [.variant(.byte(1))], name: name, $0) }
        #expect(started == .success([.variant(.byte(1))]))
        let unknown = try bus.loop.result { connection.callPeer("Nothing", [], name: name, $0) }
        #expect(unknown.failure?.name == "org.freedesktop.DBus.Error.UnknownMethod")
        _ = try bus.loop.result { connection.callPeer("Quit", [], name: name, $0) }
    }

    @Test("A call without a reply in time fails, and the reply that comes after it is told to nobody")
    func timeout() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        var results: [Result<[DBusValue], DBusError>] = []
        connection.callPeer("Hold", timeout: .milliseconds(20)) { results.append($0) }
        #expect(bus.loop.drive { !results.isEmpty })
        #expect(results.first?.failure?.name == DBusError.noReply)
        // Held by now, or after this; either way the late reply comes before those of the calls that follow.
        for _ in 0..<3 { _ = try bus.loop.result { connection.callPeer("LetGo", [], $0) } }
        #expect(results.count == 1)
    }

    @Test("A cancelled call tells nothing: not sent yet, sent, or cancelled by another's completion")
    func cancel() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        var told: [String] = []
        connection.callPeer("Echo", [.variant(.byte(1))]) { _ in told.append("unsent") }.cancel()
        #expect(bus.loop.drive { connection.isOpen })
        let sent = connection.callPeer("Echo", [.variant(.byte(1))]) { _ in told.append("sent") }
        sent.cancel()
        sent.cancel()
        var other: DBusCall?
        var own: DBusCall?
        own = connection.callPeer("Echo", [.variant(.byte(1))]) { _ in
            told.append("first")
            own?.cancel()
            other?.cancel()
            own = nil
            other = nil
        }
        other = connection.callPeer("Echo", [.variant(.byte(1))]) { _ in told.append("second") }
        let invalid = connection.callPeer("Not a member") { _ in told.append("invalid") }
        invalid.cancel()
        var isDone = false
        connection.callPeer("Echo", [.variant(.byte(1))]) { _ in isDone = true }
        #expect(bus.loop.drive { isDone })
        #expect(told == ["first"])
    }

    @Test("What is no D-Bus is refused before it is sent, and the connection goes on")
    func invalidArguments() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        var deep = DBusValue.byte(1)
        for _ in 0..<40 { deep = .variant(deep) }
        let refused: [DBusValue] = [
            .string("a\0b"), .objectPath("no path"), .objectPath(""), .signature("a"), .array("s", [.byte(1)]),
            .array("", []), .array("a\0", []), .structure([]), .dictionary("v", "s", []), deep,
            .dictionary("s", "s", [DBusEntry(key: .string("a"), value: .byte(1))]), .array("(", []),
            .array("{sv}", []), .array("()", []), .array("ss", []), .signature("()"), .signature("a{vs}"),
            .signature("(s"), .signature("z"), .signature(String(repeating: "s", count: 256)),
            .signature(String(repeating: "a", count: 33) + "s"),
            .unixFD(DBusFileDescriptor(borrowing: -1)), .unixFD(DBusFileDescriptor(borrowing: 1_000_000)),
            .array(String(repeating: "a", count: 300) + "y", []),
        ]
        for value in refused {
            let result = try bus.loop.result { connection.callPeer("Echo", [.variant(value)], $0) }
            #expect(result.failure?.name == DBusError.invalidArguments, "\(value)")
            #expect(
                connection.send(
                    destination: "org.example.Peer", path: "/peer", interface: "org.example.Peer", member: "Echo",
                    arguments: [value])?.name == DBusError.invalidArguments)
        }
        let names: [(String, String, String, String)] = [
            ("org example", "/a", "a.b", "C"), ("org.example\0", "/a", "a.b", "C"), ("", "/a", "a.b", "C"),
            ("org.example", "a", "a.b", "C"), ("org.example", "/a\0", "a.b", "C"), ("org.example", "/a/", "a.b", "C"),
            ("org.example", "/a", "a", "C"), ("org.example", "/a", "a.b", "C.D"), ("org.example", "/a", "a.b", ""),
            (String(repeating: "a.", count: 200) + "a", "/a", "a.b", "C"),
        ]
        for (destination, path, interface, member) in names {
            let result = try bus.loop.result {
                connection.call(
                    destination: destination, path: path, interface: interface, member: member,
                    timeout: .seconds(5), completion: $0)
            }
            #expect(result.failure?.name == DBusError.invalidArguments)
        }
        let after = try bus.loop.result { connection.callPeer("Echo", [.variant(.byte(1))], $0) }
        #expect(after == .success([.variant(.byte(1))]))
    }

    @Test("So many calls may wait, and no more; those told by a closing connection are none")
    func limit() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        _ = try bus.startPeer()
        let connection = try bus.connect()
        var told = 0
        for _ in 0..<DBusLimits.maximumCalls { connection.callPeer("Never") { _ in told += 1 } }
        let excess = try bus.loop.result { connection.callPeer("Never", [], $0) }
        #expect(excess.failure?.name == DBusError.limitsExceeded)
        #expect(bus.loop.drive { connection.isOpen })
        connection.callPeer("Not a member") { _ in told += 1 }
        connection.close()
        bus.loop.drive(for: .milliseconds(20))
        #expect(told == 0)
        let after = try bus.loop.result { connection.callPeer("Never", [], $0) }
        #expect(after.failure?.name == DBusError.disconnected)
    }

    @Test("A call without a reply reaches the peer, also when it is made before the bus has answered")
    func send() throws {
        let bus = try TestBus()
        defer { bus.stop() }
        let peer = try bus.startPeer()
        let connection = try bus.connect()
        let error = connection.send(
            destination: "org.example.Peer", path: "/peer", interface: "org.example.Peer", member: "Quit")
        #expect(error == nil)
        #expect(bus.loop.drive { peer.exit != nil })
        let again = try bus.startPeer()
        connection.send(destination: "org.example.Peer", path: "/peer", interface: "org.example.Peer", member: "Quit")
        #expect(bus.loop.drive { again.exit != nil })
    }
}

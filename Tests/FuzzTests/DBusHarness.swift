import CRingwakeSystemd
import Glibc

@testable import DBus

/// What a message bus, and programs on it, send.
enum DBusHarness {
    /// The messages after the bus has greeted us: through the gate and sd-bus to our values.
    static let messages = Harness("dbus-messages", maximumBytes: 4096) { input in
        if let header = MessageHeader(input) {
            try require(header.totalBytes >= UInt64(MessageHeader.fixedBytes), "a message is shorter than its header")
            _ = header.replySerial(in: input)
        }
        let whole = try receive([input[...]])
        for pieces in Cuts.of(input) { try requireEqual(try receive(pieces), whole, "other pieces, other messages") }
        return whole.contains { $0.hasPrefix("received") }
    }

    /// Addresses, signatures and names.
    static let text = Harness("dbus-text", maximumBytes: 600) { input in
        let text = String(decoding: input, as: UTF8.self)
        let endpoints = (try? DBusAddress.address(text).endpoints(environment: [:])) ?? []
        for endpoint in endpoints { try require(!endpoint.name.contains(0), "a name holds a zero byte") }
        let escaped = UnixEndpoint(address: "unix:path=\(UnixEndpoint.escaped(text))")
        let isName = !text.isEmpty && !text.utf8.contains(0)
        try requireEqual(escaped?.name, isName ? Array(text.utf8) : nil, "a name changed when it was escaped")
        if DBusSignature.isSingle(text) { try require(DBusSignature.isValid(text), "one type is no types") }
        if DBusSignature.isBasic(text) { try require(DBusSignature.isSingle(text), "a basic type is no type") }
        try require(DBusNames.isObjectPath("/" + DBusNames.pathElement(text)), "an encoded text is no path element")
        return !endpoints.isEmpty || DBusSignature.isValid(text) || DBusNames.isBusName(text)
    }

    /// A socket that listens where a bus would, made once.
    private static let listener = Result {
        let name = "ringwake-fuzz-\(getpid())"
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0[1...].copyBytes(from: name.utf8) }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.utf8.count)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        try require(result == 0 && listen(descriptor, 1) == 0, "no socket to listen on: \(errno)")
        return (descriptor, name)
    }

    /// Answers to sd-bus's handshake, and to its `Hello`.
    private static let greeting: [UInt8] =
        Array("DATA\r\nOK 0123456789abcdef0123456789abcdef\r\nAGREE_UNIX_FD\r\n".utf8)
        + [0x6C, 2, 1, 1, 9, 0, 0, 0, 1, 0, 0, 0, 0x2F, 0, 0, 0]
        + [5, 1, 0x75, 0, 1, 0, 0, 0, 7, 1, 0x73, 0, 20, 0, 0, 0] + Array("org.freedesktop.DBus".utf8) + [0, 0, 0, 0]
        + [8, 1, 0x67, 0, 1, 0x73, 0, 0] + [4, 0, 0, 0] + Array(":1.1".utf8) + [0]

    /// What was received, in words, and how it ended.
    private static func receive(_ pieces: [ArraySlice<UInt8>]) throws -> [String] {
        let (listener, name) = try listener.get()
        let transport = try Transport(endpoints: [UnixEndpoint(address: "unix:abstract=\(name)")].compactMap { $0 })
        defer { transport.close() }
        let peer = accept(listener, nil, nil)
        try require(peer >= 0, "no connection: \(errno)")
        defer { Glibc.close(peer) }
        var events: [String] = []
        for piece in [greeting[...]] + pieces {
            let count = piece.withUnsafeBytes { send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            // Refused: the connection has ended before.
            guard count == piece.count else { break }
            guard try pump(transport, &events) else { break }
        }
        return events
    }

    /// Takes what has come. Returns whether the connection goes on.
    private static func pump(_ transport: Transport, _ events: inout [String]) throws -> Bool {
        while true {
            switch transport.process(isFeeding: true) {
            case .idle: return true
            case .progress: break
            case .received(let message):
                events.append(try describe(message, transport))
            case .dropping(let cookie, let bytes):
                events.append("dropped \(bytes) bytes, reply to \(cookie ?? 0)")
            case .failed(let error):
                events.append("failed: \(error.name)")
                return false
            }
        }
    }

    private static func describe(_ message: ReceivedMessage, _ transport: Transport) throws -> String {
        let result = message.result()
        if case .success(let values) = result { try checkWriter(values, transport) }
        return "received \(message.kind) \(message.sender) \(message.path) \(message.interface) \(message.member) "
            + "\(result)".replacing(#/0x[0-9a-f]+/#, with: "")
    }

    /// What we write is what we read.
    private static func checkWriter(_ values: [DBusValue], _ transport: Transport) throws {
        // A descriptor that is read is another one.
        guard !values.isEmpty, !"\(values)".contains("unixFD") else { return }
        let name = "org.example.Peer"
        guard
            let message = try? Message(
                bus: transport.bus, destination: name, path: "/", interface: name, member: "A", arguments: values)
        else { return }
        try require(sd_bus_message_seal(message.pointer, 1, 0) >= 0, "a written message cannot be sealed")
        var reader = MessageReader(message.pointer)
        // A number that is none is unequal to itself.
        try requireEqual("\(try reader.arguments())", "\(values)", "values changed when they were written")
    }
}

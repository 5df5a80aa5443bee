import FoundationEssentials

/// A message from baresip: an event, or the response to a command.
struct BaresipMessage: Decodable, Sendable {
    let event: Bool?
    /// For an event: `CALL_INCOMING`, `CALL_ESTABLISHED`, `CALL_CLOSED`.
    let type: String?
    /// For an event of a call: its SIP Call-ID.
    let id: String?
    let peeruri: String?
    let peerdisplayname: String?
    let param: String?
    /// For a response: whether baresip knows the command, which does not mean that it worked.
    let ok: Bool?
    let data: String?
    let token: String?

    init(_ bytes: [UInt8]) throws {
        self = try JSONDecoder().decode(BaresipMessage.self, from: Data(bytes))
    }
}

/// A command; all of its parameters are one text.
struct BaresipCommand: Encodable, Sendable {
    let command: String
    let params: String?
    let token: String

    func netstring() throws -> [UInt8] { NetstringReader.write(Array(try JSONEncoder().encode(self))) }
}

/// baresip cannot be started, has exited, or does not carry out a command.
public struct BaresipError: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

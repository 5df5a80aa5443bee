internal import ControlProtocol
internal import FoundationEssentials

/// Decodes messages of the daemon.
enum JSONText {
    /// - Parameter what: names the expected message in the error.
    /// - Throws: `badAnswer`.
    static func read<Message: Decodable>(_ bytes: [UInt8], _ what: String) throws(RingwakeKitError) -> Message {
        do {
            return try JSONDecoder().decode(Message.self, from: Data(bytes))
        } catch {
            throw RingwakeKitError(.badAnswer, "\(what) that is not as this version of ringwaked writes it: \(error)")
        }
    }
}

extension RingwakeKitError {
    static let isClosed = RingwakeKitError(.closed, "the client was closed")

    /// The error of a refusal, with the daemon's message.
    init(_ answer: ControlAnswer) {
        do throws(RingwakeKitError) {
            let message: ErrorMessage = try JSONText.read(answer.body, "a refusal")
            self.init(Code(rawValue: message.error), message.message)
        } catch {
            self.init(.badAnswer, "the daemon answered with status \(answer.status) and no message: \(error.message)")
        }
    }
}

/// What an app tells its server.
struct Registration: Hashable, Sendable {
    var credentials: [PushCredentials] = []
    /// Nil while it is unknown, and of a daemon that has none.
    var vendorIdentifier: UUID?

    static let none = Registration()

    /// - Throws: `badAnswer`.
    static func read(_ body: [UInt8]) throws(RingwakeKitError) -> Registration {
        let message: CredentialsMessage = try JSONText.read(body, "credentials")
        let credentials = message.credentials.map { credential in
            PushCredentials(
                token: credential.token, environment: .init(rawValue: credential.environment),
                topic: message.topic, teams: message.teams, host: credential.host,
                port: credential.port.flatMap { $0 == 0 ? nil : Int($0) },
                certificateAuthorities: credential.certificateAuthorities)
        }
        return Registration(
            credentials: credentials, vendorIdentifier: message.vendorIdentifier.flatMap { UUID(uuidString: $0) })
    }
}

internal import CallService
internal import ControlProtocol
internal import Cryptography
internal import DataProtection
internal import HTTPServer
internal import RingwakeCore

/// `/v1/protection`. Who may ask was checked before.
final class ProtectionRequests {
    /// Bytes of a salt, as the file of keys takes them.
    private static let saltBytes = 16...64

    private let protection: ProtectionService

    init(_ protection: ProtectionService) {
        self.protection = protection
    }

    func answer(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        guard request.parts.count == 2 else {
            try request.require("GET")
            return respond(to: exchange)
        }
        let verb = request.parts[1]
        guard ["lock", "unlock", "rekey", "delete", "passphrase"].contains(verb) else {
            throw RingwakeError(.notFound, "there is nothing at \(request.target)")
        }
        try request.require("POST")
        switch verb {
        case "lock": try protection.lockByCommand()
        case "unlock":
            let key = try request.decode(ProtectionUnlock.self, empty: ProtectionUnlock()).key
            return try protection.unlock(key.map { (key) throws(RingwakeError) in try Self.rootKey(key) }) {
                [weak self] result in
                switch result {
                case .success: self?.respond(to: exchange)
                case .failure(let error): exchange.respond(.failure(error))
                }
            }
        case "rekey":
            let name = try request.decode(ProtectionClassChoice.self, empty: ProtectionClassChoice()).class
            let classes = try name.map { (name) throws(RingwakeError) in [try Self.protectionClass(name)] }
            try protection.rekey(classes ?? ProtectionClass.withKeys)
        case "delete":
            guard let name = try request.decode(ProtectionClassChoice.self, empty: nil).class else {
                throw RingwakeError(.invalidRequest, "'class' is missing; \(Self.classes)")
            }
            try protection.delete(try Self.protectionClass(name))
        default:
            let message = try request.decode(ProtectionPassphrase.self, empty: nil)
            try protection.setPassphrase(try Self.source(message.passphrase), try Self.rootKey(message.key))
        }
        protection.distribution.whenApplied { [weak self] in self?.respond(to: exchange) }
    }

    private func respond(to exchange: any HTTPExchange) { exchange.respond(.success(ProtectionMessage(protection))) }

    private static let classes =
        "the classes are " + ProtectionClass.withKeys.map(\.rawValue).joined(separator: ", ")

    private static func protectionClass(_ name: String) throws(RingwakeError) -> ProtectionClass {
        guard let found = ProtectionClass.withKeys.first(where: { $0.rawValue == name }) else {
            throw RingwakeError(.invalidRequest, "'\(name)' is no class that has keys; \(classes)")
        }
        return found
    }

    private static func rootKey(_ text: String) throws(RingwakeError) -> RootKey {
        guard text.utf8.count <= ProtectionUnlock.maximumKeyCharacters, var bytes = Base64URL.decode(text),
            bytes.count == RootKey.byteCount
        else { throw RingwakeError(.invalidRequest, "'key' has to be \(RootKey.byteCount) bytes in base64url") }
        return try RootKey(bytes: SecretBytes(wiping: &bytes))
    }

    private static func source(_ derivation: ProtectionMessage.Derivation) throws(RingwakeError) -> RootKeySource {
        guard let salt = Base64URL.decode(derivation.salt), saltBytes.contains(salt.count) else {
            throw RingwakeError(
                .invalidRequest,
                "'salt' has to be \(saltBytes.lowerBound) to \(saltBytes.upperBound) bytes in base64url")
        }
        guard derivation.n >= ProtectionMessage.Derivation.minimumN,
            let cost = ScryptParameters(n: derivation.n, r: derivation.r, p: derivation.p)
        else {
            throw RingwakeError(
                .invalidRequest, "'n', 'r' and 'p' are no cost of scrypt that this version takes; use 131072, 8 and 1")
        }
        return .passphrase(salt: salt, cost)
    }
}

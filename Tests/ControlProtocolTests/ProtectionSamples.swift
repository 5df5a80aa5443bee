@testable import ControlProtocol

/// The messages of `/v1/protection`.
enum ProtectionSamples {
    static let all: [(path: String, message: any Encodable & Sendable)] = [
        ("ProtectionMessage/off", off), ("ProtectionMessage/locked", locked), ("ProtectionMessage/key-file", keyFile),
        ("ProtectionUnlock/key", ProtectionUnlock(key: key)),
        ("ProtectionClassChoice/complete", ProtectionClassChoice(class: "complete")),
        ("ProtectionPassphrase/new", ProtectionPassphrase(key: key, passphrase: derivation)),
        ("PublicStatusMessage/handler", status),
    ]

    private static let key = "Zm9yIGEgdGVzdCwgYW5kIGZvciBub3RoaW5nIGVsc2U"

    private static let derivation = ProtectionMessage.Derivation(
        salt: "c2FsdCBvZiBhIHRlc3Q", n: 131_072, r: 8, p: 1)

    private static let off = ProtectionMessage(
        state: "off", why: "systemd passes no credential", protectedDataAvailable: true, lock: "command")

    static let locked = ProtectionMessage(
        state: "locked", why: "run 'ringwake protection unlock'", source: "passphrase", protectedDataAvailable: false,
        lock: "session", session: "unknown", sessionWhy: "logind is not there", lockedMs: 61_000,
        classes: [
            .init(name: "complete", available: false, generation: 2, kinds: ["payloads", "appState"]),
            .init(
                name: "completeUntilFirstUserAuthentication", available: true, generation: 1, kinds: ["callers"],
                rekeying: .init(done: 250, total: 1000)),
        ], passphrase: derivation)

    private static let keyFile = ProtectionMessage(
        state: "unlocked", source: "keyFile", keyFile: "/etc/ringwake/protection.key", protectedDataAvailable: true,
        lock: "session", session: "unlocked")

    private static let status: PublicStatusMessage = {
        var status = PublicStatusMessage(version: "0.1.0", uptimeMs: 61_000, connection: nil)
        status.protectedDataAvailable = false
        return status
    }()
}

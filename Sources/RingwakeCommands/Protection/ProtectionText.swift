import ControlProtocol
import RingwakeCore

/// Formats the protection of stored data for people.
enum ProtectionText {
    /// The names of the classes that have keys.
    static let classes = ProtectionClass.withKeys.map(\.rawValue)

    static func text(of protection: ProtectionMessage, style: TextStyle) -> String {
        var lines = [style.bold("protection") + "  " + summary(of: protection, style: style)]
        var facts = TextTable([.left, .left])
        if let source = protection.source {
            let name = source == "keyFile" ? "the file \(protection.keyFile ?? "")" : words[source] ?? source
            facts.add(["keys", "opened by " + TerminalText.printable(name)])
        }
        if protection.state != "off" { facts.add(["locked by", TerminalText.printable(lock(of: protection))]) }
        lines += facts.lines(indent: 2)
        guard !protection.classes.isEmpty else { return lines.joined(separator: "\n") + "\n" }
        var table = TextTable([.left, .left, .right, .left, .left])
        table.add(["class", "can be read", "key", "kinds", ""])
        for one in protection.classes {
            let progress = one.rekeying.map { "encrypted again: \($0.done) of \($0.total)" } ?? ""
            table.add(
                [
                    one.name, one.available ? "yes" : "no", one.generation.map { "\($0)" } ?? "none",
                    one.kinds.joined(separator: " "), progress,
                ].map { TerminalText.printable($0) })
        }
        return lines.joined(separator: "\n") + "\n\n" + table.list(style: style)
    }

    /// One line.
    static func summary(of protection: ProtectionMessage, style: TextStyle) -> String {
        summary(
            StatusMessage.Protection(
                state: protection.state, why: protection.why, unusable: protection.unusable,
                protectedDataAvailable: protection.protectedDataAvailable), style: style)
    }

    static func summary(_ protection: StatusMessage.Protection, style: TextStyle) -> String {
        let state = TerminalText.printable(protection.state)
        guard let why = protection.why else { return state }
        let reason = TerminalText.printable(why)
        return "\(state): " + (protection.unusable == true ? style.bad(reason) : reason)
    }

    private static let words = [
        "credential": "the credential ringwake-protection", "passphrase": "a passphrase", "tpm": "the TPM",
    ]

    private static func lock(of protection: ProtectionMessage) -> String {
        guard protection.lock == "session" else { return "'ringwake protection lock' only" }
        let state = protection.session ?? "unknown"
        return "the lock of the screen, which is " + (protection.sessionWhy.map { "unknown: \($0)" } ?? state)
    }
}

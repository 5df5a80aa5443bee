import ControlProtocol

/// Stored data is encrypted, and its keys can be opened.
enum ProtectionCheck {
    private static let name = "protection"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        guard let protection = facts.status?.protection else { return [] }
        let why = protection.why ?? "the daemon does not say why"
        if protection.unusable == true {
            return [
                .warning(
                    name, "the keys of protected data cannot be used: \(why)",
                    hint:
                        "calls still ring; 'ringwake protection status' shows what cannot be read until that is repaired"
                )
            ]
        }
        guard protection.state != "off" else {
            return [
                .note(
                    name, "stored data is not encrypted: \(why)",
                    hint: "Documentation/protection.md says how to choose what opens the keys")
            ]
        }
        return [state(protection, facts.protection)] + keyFile(facts)
    }

    private static func state(_ protection: StatusMessage.Protection, _ details: ProtectionMessage?) -> Finding {
        guard protection.state == "locked" else { return .ok(name, "stored data is encrypted, and unlocked") }
        let since = details?.lockedMs.map { " for \(DurationText.long(milliseconds: $0))" } ?? ""
        return .note(
            name, "stored data is encrypted, and has been locked\(since); calls ring all the same",
            hint: protection.why ?? "unlock the screen, or run 'ringwake protection unlock'")
    }

    private static func keyFile(_ facts: DoctorFacts) -> [Finding] {
        guard facts.isKeyFileOpen == true, let path = facts.protection?.keyFile else { return [] }
        return [
            .warning(
                name, "other users may read \(path), and with it everything that it protects",
                hint: "run 'chmod 0400 \(path)'")
        ]
    }
}

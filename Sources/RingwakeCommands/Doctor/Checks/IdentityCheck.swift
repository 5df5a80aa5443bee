import ControlProtocol

/// The device's identity is its own, and known.
enum IdentityCheck {
    private static let name = "identity"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        guard let status = facts.status else { return [] }
        guard let identity = status.identity else { return [.ok(name, "this installation has an identity of its own")] }
        let hint =
            identity.state == "copied"
            ? "on another device run 'ringwake identity reset', on the same one 'ringwake identity accept'"
            : "apps get no vendor identifier until then; 'ringwake identity reset --yes' makes another identity"
        return [.warning(name, identity.why, hint: hint)]
    }
}

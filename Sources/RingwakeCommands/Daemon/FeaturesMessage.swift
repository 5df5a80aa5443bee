import ControlProtocol

/// What `ringwake status --features` prints: what the daemon found at its start.
struct FeaturesMessage: Encodable, Equatable {
    var schema = ControlAPI.schema
    let features: [FacilityMessage]

    /// One line each.
    func text(style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        for feature in features {
            let why = feature.why.map { " (\($0))" } ?? ""
            table.add([feature.name, feature.available ? "there" : "missing\(why): \(feature.loss)"])
        }
        return table.lines().map { TerminalText.printable($0) + "\n" }.joined()
    }
}

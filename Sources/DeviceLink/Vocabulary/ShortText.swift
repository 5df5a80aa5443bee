/// Shortens text that a peer wrote, and replaces what could break a line of a log or of a terminal, or an MQTT string.
///
/// - Parameter bytes: maximum UTF-8 bytes of the result.
func shortText(_ text: String, bytes: Int) -> String {
    var result = String.UnicodeScalarView()
    var count = 0
    for scalar in text.unicodeScalars {
        let shown = scalar.breaksLines ? " " : scalar
        count += UTF8.width(shown)
        guard count <= bytes else { break }
        result.append(shown)
    }
    return String(result)
}

extension Unicode.Scalar {
    /// Control characters, line ends, and those that change the direction of the text around them.
    fileprivate var breaksLines: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
        }
    }
}

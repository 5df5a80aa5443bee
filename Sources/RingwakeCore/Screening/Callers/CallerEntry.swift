/// One entry of a list of callers.
package struct CallerEntry: Hashable, Sendable {
    package let pattern: CallerPattern
    /// The list's label for the caller: a name, a kind of business. Untrusted text.
    package let label: String?

    /// - Parameter label: control characters become spaces; a blank label becomes nil; a long one is cut at
    ///   ``CallUpdate/maximumTextBytes``.
    package init(pattern: CallerPattern, label: String? = nil) {
        self.pattern = pattern
        self.label = label.flatMap(CallerEntry.kept)
    }

    private static func kept(_ label: String) -> String? {
        let isControl = { (scalar: Unicode.Scalar) in scalar.value < 0x20 || scalar.value == 0x7F }
        var label = label
        if label.unicodeScalars.contains(where: isControl) {
            label = String(String.UnicodeScalarView(label.unicodeScalars.map { isControl($0) ? " " : $0 }))
        }
        return (try? ShownText.kept(String(label.trimmingBlanks()))) ?? nil
    }
}

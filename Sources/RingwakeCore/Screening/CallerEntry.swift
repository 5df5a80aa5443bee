/// One line of a list of callers.
package struct CallerEntry: Hashable, Sendable {
    package let pattern: CallerPattern
    /// What the list says of the caller: a name, a kind of business. Untrusted text.
    package let label: String?

    /// - Parameter label: control characters become spaces; a blank one is none, a long one is cut at
    ///   ``CallUpdate/maximumTextBytes``.
    package init(pattern: CallerPattern, label: String? = nil) {
        self.pattern = pattern
        self.label = label.flatMap(CallerEntry.kept)
    }

    private static func kept(_ label: String) -> String? {
        guard label.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            return (try? ShownText.kept(String(label.trimmingBlanks()))) ?? nil
        }
        var scalars = String.UnicodeScalarView()
        for scalar in label.unicodeScalars {
            scalars.append(scalar.value < 0x20 || scalar.value == 0x7F ? " " : scalar)
        }
        return (try? ShownText.kept(String(String(scalars).trimmingBlanks()))) ?? nil
    }
}

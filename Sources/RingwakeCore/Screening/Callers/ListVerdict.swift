/// What a list of callers is for.
package enum CallerListKind: String, Sendable, Codable, CaseIterable {
    /// Its callers are kept out.
    case block
    /// Its entries say who callers are.
    case identify
}

/// The entry of a list that a caller was found by.
package struct ListMatch: Hashable, Sendable {
    /// The name of the list.
    package let list: String
    package let pattern: CallerPattern
    /// What the list says of the caller. Untrusted text, at most ``CallUpdate/maximumTextBytes``.
    package let label: String?

    package init(list: String, pattern: CallerPattern, label: String?) {
        self.list = list
        self.pattern = pattern
        self.label = label
    }
}

/// What all lists together say of a caller. Of each kind the closest entry counts: the caller itself, then the longest
/// prefix, then the host.
package struct ListVerdict: Hashable, Sendable {
    /// The entry that keeps the caller out.
    package let blocked: ListMatch?
    /// The entry that says who it is.
    package let identified: ListMatch?

    /// Nil when no list says anything.
    package init?(blocked: ListMatch?, identified: ListMatch?) {
        guard blocked != nil || identified != nil else { return nil }
        self.blocked = blocked
        self.identified = identified
    }

    /// Who the caller is said to be: a guess, to be shown as one (``CallUpdate/identifiedAs``).
    package var label: String? { identified?.label ?? blocked?.label }
}

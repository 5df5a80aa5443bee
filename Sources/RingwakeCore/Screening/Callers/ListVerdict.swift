/// The purpose of a list of callers.
package enum CallerListKind: String, Sendable, Codable, CaseIterable {
    /// Blocks its callers.
    case block
    /// Identifies its callers by name.
    case identify
}

/// The entry of a list that matched a caller.
package struct ListMatch: Hashable, Sendable {
    /// The name of the list.
    package let list: String
    package let pattern: CallerPattern
    /// The list's label for the caller. Untrusted text, at most ``CallUpdate/maximumTextBytes``.
    package let label: String?

    package init(list: String, pattern: CallerPattern, label: String?) {
        self.list = list
        self.pattern = pattern
        self.label = label
    }
}

/// The result of all lists for a caller. For each kind of list the most specific match counts: the caller itself, then
/// the longest prefix, then the host.
package struct ListVerdict: Hashable, Sendable {
    /// The entry that blocks the caller.
    package let blocked: ListMatch?
    /// The entry that identifies the caller.
    package let identified: ListMatch?

    /// Nil if no list matches.
    package init?(blocked: ListMatch?, identified: ListMatch?) {
        guard blocked != nil || identified != nil else { return nil }
        self.blocked = blocked
        self.identified = identified
    }

    /// The label for the caller: a guess, to be shown as one (``CallUpdate/identifiedAs``).
    package var label: String? { identified?.label ?? blocked?.label }
}

/// The device's lists of callers, who are kept out or identified: CallKit's `CXCallDirectoryManager`.
///
///     let directory = CallDirectory(client: client)
///     try await directory.make("spam", kind: .block)
///     try await directory.add([.init("+49900*", label: "premium rate")], to: "spam")
///
/// It is for the daemon's user and root; others are refused with `notPermitted`.
public final class CallDirectory: Sendable {
    private let client: RingwakeClient

    public init(client: RingwakeClient) {
        self.client = client
    }

    /// All lists, by name.
    public func lists() async throws(RingwakeKitError) -> [CallerList] { try await client.port.callerLists() }

    /// Makes a list; one of that kind that is there stays as it is. Its name is up to 64 letters, digits, `-`, `_` and
    /// `.`, and does not begin with a dot.
    ///
    /// - Throws: `conflict`: one of another kind is there; `limitReached`: 64 lists are there.
    @discardableResult
    public func make(_ name: String, kind: CallerList.Kind) async throws(RingwakeKitError) -> CallerList {
        try await client.port.makeList(name, kind)
    }

    /// Adds entries; one whose pattern is there gets the new label. All of it is done, or nothing.
    /// - Throws: `notFound`; `invalidRequest`: a pattern that is none; `limitReached`. More than 64 KiB in all are
    ///   refused: use ``replace(_:kind:with:source:)``.
    @discardableResult
    public func add(_ entries: [CallerEntry], to list: String) async throws(RingwakeKitError) -> CallerList {
        try await client.port.changeList(list, add: entries, remove: [])
    }

    /// Removes entries by their patterns; one that is not there is passed over. All of it is done, or nothing.
    @discardableResult
    public func remove(_ patterns: [String], from list: String) async throws(RingwakeKitError) -> CallerList {
        try await client.port.changeList(list, add: [], remove: patterns)
    }

    /// Replaces all entries of a list at once, which is made if it is not there. Until that moment the list is as it was,
    /// and it stays so when this throws. `source` says where the entries are from, to be shown: a file or a URL.
    @discardableResult
    public func replace(
        _ list: String, kind: CallerList.Kind, with entries: [CallerEntry], source: String? = nil
    ) async throws(RingwakeKitError) -> CallerList {
        try await client.port.replaceList(list, kind, entries, source)
    }

    /// Removes a list with its entries.
    public func delete(_ list: String) async throws(RingwakeKitError) { try await client.port.deleteList(list) }

    /// The entries of a list by pattern, at most 500 at a time: those behind the pattern `after`, the last of the page
    /// before.
    public func entries(of list: String, after: String? = nil) async throws(RingwakeKitError) -> [CallerEntry] {
        try await client.port.entries(of: list, after: after)
    }

    /// What lists and rules say of a caller now. It counts as no call.
    public func check(_ caller: String) async throws(RingwakeKitError) -> CallerCheck {
        try await client.port.check(caller)
    }
}

/// One list of callers.
public struct CallerList: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable {
        /// Its callers are kept out.
        case block
        /// It says who its callers are.
        case identify
    }

    public let name: String
    public let kind: Kind
    /// How many entries it has.
    public let count: Int
    /// Where it was imported from.
    public let source: String?
}

/// One entry of a list.
public struct CallerEntry: Hashable, Sendable {
    /// Which callers it means: a number or an address, `+49900*` for all numbers that begin so, `*@spam.example` for all
    /// callers of a host, `anonymous` for those who do not say who they are.
    public let pattern: String
    /// Who they are, or why they are listed. Cut at 256 bytes.
    public let label: String?

    public init(_ pattern: String, label: String? = nil) {
        self.pattern = pattern
        self.label = label
    }
}

/// What lists and rules say of a caller.
public struct CallerCheck: Hashable, Sendable {
    /// The caller in the form that is compared.
    public let caller: String
    /// Whether a call would ring now, as far as it hangs on the caller.
    public let rings: Bool
    /// The list that has the caller, and the entry's pattern.
    public let list: String?
    public let pattern: String?
    /// Who a list says that it is: a guess. Untrusted text.
    public let identifiedAs: String?
    /// What would keep the call out.
    public let filter: CallFilter?
}

internal import ControlProtocol

/// The device's lists of callers to block or to identify: CallKit's `CXCallDirectoryManager`.
///
///     let directory = CallDirectory(client: client)
///     try await directory.createList(named: "spam", kind: .block)
///     try await directory.add([.init("+49900*", label: "premium rate")], to: "spam")
///
/// Only the daemon's user and root may use it; others get `notPermitted`.
public final class CallDirectory: Sendable {
    /// Maximum bytes of entries in one request: below the daemon's limit of a body.
    private static let pieceBytes = 48 << 10

    private let requests: DaemonRequests
    private let client: RingwakeClient

    public init(client: RingwakeClient) {
        self.client = client
        requests = client.requests
    }

    /// All lists, by name.
    public func lists() async throws(RingwakeKitError) -> [CallerList] {
        let message: CallerListsMessage = try await requests.user("GET", RequestTarget("lists"))
        return message.lists.map { CallerList($0) }
    }

    /// Creates a list. An existing list of that kind stays unchanged. A name has up to 64 letters, digits, `-`, `_`
    /// and `.`, and doesn't begin with a dot.
    ///
    /// - Throws: `conflict`: there is one of another kind; `limitReached`: there are 64 lists.
    @discardableResult
    public func createList(named name: String, kind: CallerList.Kind) async throws(RingwakeKitError) -> CallerList {
        let message: CallerListMessage = try await requests.user(
            "PUT", RequestTarget("lists", name), CallerListCreation(kind: kind.rawValue), isRepeatable: true)
        return CallerList(message)
    }

    /// Adds entries. An existing entry with the same pattern gets the new label. Adds all of them, or none.
    /// - Throws: `notFound`; `invalidRequest`: a pattern is invalid; `limitReached`. More than 64 KiB in all are
    ///   refused: use ``replaceEntries(of:kind:with:source:)``.
    @discardableResult
    public func add(_ entries: [CallerEntry], to list: String) async throws(RingwakeKitError) -> CallerList {
        let messages = entries.map { CallerEntryMessage(pattern: $0.pattern, label: $0.label) }
        return try await change(list, CallerListChange(add: messages))
    }

    /// Removes entries by their patterns, and ignores patterns that the list doesn't have. Removes all of them, or
    /// none.
    @discardableResult
    public func remove(_ patterns: [String], from list: String) async throws(RingwakeKitError) -> CallerList {
        try await change(list, CallerListChange(remove: patterns))
    }

    private func change(_ list: String, _ change: CallerListChange) async throws(RingwakeKitError) -> CallerList {
        let message: CallerListMessage = try await requests.user(
            "POST", RequestTarget("lists", list, "entries"), change, isRepeatable: true)
        return CallerList(message)
    }

    /// Replaces all entries of a list atomically, and creates the list if there is none. If this throws, the list is
    /// unchanged. `source` is the origin of the entries, a file or a URL, and is shown in lists.
    @discardableResult
    public func replaceEntries(
        of list: String, kind: CallerList.Kind, with entries: [CallerEntry], source: String? = nil
    ) async throws(RingwakeKitError) -> CallerList {
        let pieces = try Self.pieces(of: entries)
        let begun: ImportMessage = try await requests.user(
            "POST", RequestTarget("lists", list, "import"), CallerListCreation(kind: kind.rawValue))
        do throws(RingwakeKitError) {
            for piece in pieces {
                let _: ImportMessage = try await requests.answer(
                    to: RequestQueue.Request(
                        .user, "POST", RequestTarget("imports", begun.id), body: piece, isJSON: false))
            }
            let message: CallerListMessage = try await requests.user(
                "POST", RequestTarget("imports", begun.id, "finish"), ImportFinish(source: source))
            return CallerList(message)
        } catch {
            // Ignore a failed cancel: the list is unchanged either way, and the daemon drops abandoned imports.
            let cancel = RequestQueue.Request(.user, "DELETE", RequestTarget("imports", begun.id))
            do throws(RingwakeKitError) { _ = try await requests.reply(to: cancel) } catch {}
            throw error
        }
    }

    /// Lines of `pattern TAB label LF`, in pieces that fit into a request.
    private static func pieces(of entries: [CallerEntry]) throws(RingwakeKitError) -> [[UInt8]] {
        var pieces: [[UInt8]] = [[]]
        for entry in entries {
            let texts = [entry.pattern] + (entry.label.map { [$0] } ?? [])
            guard texts.allSatisfy({ !$0.utf8.contains { $0 < 0x20 } }) else {
                throw RingwakeKitError(
                    .invalidRequest, "the entry '\(entry.pattern)' contains a tab, an end of line or the like")
            }
            let line = Array(texts.joined(separator: "\t").utf8) + [UInt8(ascii: "\n")]
            guard line.count <= pieceBytes else {
                throw RingwakeKitError(.invalidRequest, "an entry has more than \(pieceBytes) bytes")
            }
            if (pieces.last?.count ?? 0) + line.count > pieceBytes { pieces.append([]) }
            pieces[pieces.count - 1] += line
        }
        return pieces.filter { !$0.isEmpty }
    }

    /// Deletes a list with its entries.
    public func deleteList(named name: String) async throws(RingwakeKitError) {
        let _: CallerListMessage = try await requests.user("DELETE", RequestTarget("lists", name))
    }

    /// Entries of a list by pattern, at most 500 at a time. `after` is the last pattern of the previous page.
    public func entries(of list: String, after: String? = nil) async throws(RingwakeKitError) -> [CallerEntry] {
        let limit = String(ControlAPI.maximumListLimit)
        let message: CallerEntriesMessage = try await requests.user(
            "GET", RequestTarget("lists", list, query: [("after", after), ("limit", limit)]))
        return message.entries.map { CallerEntry($0.pattern, label: $0.label) }
    }

    /// Checks a caller against lists and rules, without counting a call.
    public func check(_ caller: String) async throws(RingwakeKitError) -> CallerCheck {
        let message: CallerCheckMessage = try await requests.user(
            "GET", RequestTarget("lists", "check", query: [("caller", caller)]))
        return CallerCheck(
            caller: message.caller, rings: message.rings, list: message.list, pattern: message.pattern,
            identifiedAs: message.identifiedAs, filter: message.restriction.map { CallFilter(rawValue: $0.kind) })
    }
}

/// One list of callers.
public struct CallerList: Identifiable, Hashable, Sendable {
    public struct Kind: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Blocks its callers.
        public static let block = Kind(rawValue: "block")
        /// Identifies its callers.
        public static let identify = Kind(rawValue: "identify")
    }

    public let name: String
    public let kind: Kind
    /// Number of its entries.
    public let count: Int
    /// The file or URL that it was imported from.
    public let source: String?

    public var id: String { name }

    fileprivate init(_ message: CallerListMessage) {
        name = message.list
        kind = Kind(rawValue: message.kind)
        count = message.entries
        source = message.source
    }
}

/// One entry of a list.
public struct CallerEntry: Identifiable, Hashable, Sendable {
    /// The callers: a number or an address, `+49900*` for all numbers with that beginning, `*@spam.example` for all
    /// callers of a host, `anonymous` for callers without a number or address.
    public let pattern: String
    /// The caller's name, or why it is listed. Cut at 256 bytes.
    public let label: String?

    public var id: String { pattern }

    public init(_ pattern: String, label: String? = nil) {
        self.pattern = pattern
        self.label = label
    }
}

/// What lists and rules would do with a caller.
public struct CallerCheck: Hashable, Sendable {
    /// The caller in the form that is used for comparisons.
    public let caller: String
    /// Whether a call of this caller would ring now, as far as it depends on the caller.
    public let rings: Bool
    /// The list with the caller, and its entry's pattern.
    public let list: String?
    public let pattern: String?
    /// Who the caller is, according to a list: a guess. Untrusted text.
    public let identifiedAs: String?
    /// What would block the call.
    public let filter: CallFilter?
}

/// A list of callers as the journal has it, without its entries.
package struct CallerListRecord: Hashable, Sendable {
    package let name: String
    package let kind: CallerListKind
    /// Where it was imported from: a file or a URL; nil when its entries were given one by one.
    package let source: String?
    /// What the source was at that time, as its server names it (`ETag`, RFC 9110 section 8.8.3).
    package let etag: String?
    /// When its entries were changed last, in milliseconds since 1970.
    package let updatedWallClock: Int64
    package let entries: Int

    package init(
        name: String, kind: CallerListKind, source: String?, etag: String?, updatedWallClock: Int64, entries: Int
    ) {
        self.name = name
        self.kind = kind
        self.source = source
        self.etag = etag
        self.updatedWallClock = updatedWallClock
        self.entries = entries
    }
}

/// Entries that are to take the place of a list's.
package struct CallerListImport: Hashable, Sendable, Identifiable {
    /// Names it; drawn at random, and gone with the process.
    package let id: String
    package let list: String
    /// How many entries it has, each pattern counted once.
    package let entries: Int

    package init(id: String, list: String, entries: Int) {
        self.id = id
        self.list = list
        self.entries = entries
    }
}

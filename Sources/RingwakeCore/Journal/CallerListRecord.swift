/// A list of callers in the journal, without its entries.
package struct CallerListRecord: Hashable, Sendable {
    package let name: String
    package let kind: CallerListKind
    /// The file or URL that the list was imported from; nil if its entries were added one by one.
    package let source: String?
    /// The version of the source at the import, as its server identifies it (`ETag`, RFC 9110 section 8.8.3).
    package let etag: String?
    /// When its entries last changed, in milliseconds since 1970.
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

/// Collected entries that will replace those of a list.
package struct CallerListImport: Hashable, Sendable, Identifiable {
    /// The import's random id, valid while the process lives.
    package let id: String
    package let list: String
    /// The number of its entries, each pattern counted once.
    package let entries: Int

    package init(id: String, list: String, entries: Int) {
        self.id = id
        self.list = list
        self.entries = entries
    }
}

internal import CRingwakeSQLite
internal import Database

/// The pages of a store's file, as they are on the disk, past SQLite's cache: see "Database File Format" of SQLite. Use it only
/// while the file is whole, that is after the log was moved into it.
nonisolated struct StorePages {
    /// SQLite's default, which the store keeps.
    static let bytes = 4_096
    /// Entries of 5 bytes on a page of the pointer map, which `auto_vacuum` brings.
    private static let mapEntries: Int64 = 4_096 / 5
    /// SQLite never uses the page at this offset.
    private static let lockedOffset: Int64 = 1 << 30

    enum Kind: Equatable {
        /// The pointer map itself.
        case map(isPlausible: Bool)
        /// A page of a table or an index.
        case tree
        /// A free page, or one with the rest of a long row.
        case other
        /// What no page can be.
        case unknown
    }

    private let connection: Connection
    /// The number of pages.
    let count: Int64
    private var map: (page: Int64, bytes: [UInt8])?

    init(_ connection: Connection) throws(SQLiteFailure) {
        self.connection = connection
        count = try connection.size(.store) / Int64(Self.bytes)
    }

    /// Whether there may be such a page.
    static func isUsed(_ page: Int64) -> Bool { offset(of: page) != lockedOffset }

    private static func offset(of page: Int64) -> Int64 { (page - 1) * Int64(bytes) }

    func read(_ page: Int64) throws(SQLiteFailure) -> [UInt8] {
        try connection.read(.store, Self.bytes, at: Self.offset(of: page))
    }

    /// Whether the first page says that the pages are as this type expects them.
    static func isKnownLayout(_ first: [UInt8]) -> Bool {
        first[16] == 0x10 && first[17] == 0 && first[52..<56] != [0, 0, 0, 0]
    }

    /// What a page after the first is, by the pointer map.
    mutating func kind(of page: Int64) throws(SQLiteFailure) -> Kind {
        let first = (page - 2) / (Self.mapEntries + 1) * (Self.mapEntries + 1) + 2
        if map?.page != first { map = (first, try read(first)) }
        guard let entries = map?.bytes else { return .unknown }
        if page == first {
            return .map(
                isPlausible: stride(from: 0, to: Int(Self.mapEntries) * 5, by: 5).allSatisfy { entries[$0] <= 5 })
        }
        switch entries[Int(page - first - 1) * 5] {
        // The root of a tree, and another page of one.
        case 1, 5: return .tree
        case 2, 3, 4: return .other
        default: return .unknown
        }
    }

    /// The unused bytes of a page of a tree, between the list of its cells and the cells; nil if it can't be such a page.
    /// See "B-tree Pages".
    static func gap(in page: [UInt8]) -> Range<Int>? {
        guard page.count == bytes, [2, 5, 10, 13].contains(page[0]) else { return nil }
        let header = page[0] == 2 || page[0] == 5 ? 12 : 8
        let begin = header + 2 * (Int(page[3]) << 8 | Int(page[4]))
        let end = Int(page[5]) << 8 | Int(page[6])
        return begin <= end && end <= bytes ? begin..<end : nil
    }

    /// Overwrites what SQLite has left in the unused bytes of pages when it moved rows to others: `secure_delete` clears what is
    /// deleted, and not what is moved. To be called with no page of the store in SQLite's cache.
    mutating func clearGaps() throws(SQLiteFailure) {
        guard count > 1, Self.isKnownLayout(try read(1)) else { return }
        for page in 2...count where Self.isUsed(page) {
            guard try kind(of: page) == .tree else { continue }
            let bytes = try read(page)
            guard let gap = Self.gap(in: bytes), bytes[gap].contains(where: { $0 != 0 }) else { continue }
            // The page is the same to SQLite, whichever part of this a power cut leaves out.
            try connection.clear(gap.count, at: Self.offset(of: page) + Int64(gap.lowerBound))
        }
        try connection.syncStore()
    }
}

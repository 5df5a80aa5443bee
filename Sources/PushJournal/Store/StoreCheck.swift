internal import CRingwakeSQLite
internal import Database

/// Finds damage in an open store. What SQLite has in its cache is passed by: the file counts.
nonisolated struct StoreCheck {
    /// The number of commits between two checks of pages, and the number of pages of one check. It reads 256 KB, so a
    /// push waits for it about as long as for a commit.
    static let interval: UInt64 = 64
    static let pages: Int64 = 64

    private var nextPage: Int64 = 1

    /// Reads all of the store and its log.
    /// - Throws: `damaged`, or the error of reading it.
    static func all(_ connection: Connection) throws(SQLiteFailure) {
        sqlite3_db_release_memory(connection.database)
        if let page = try brokenLogPage(connection) {
            throw .damaged("page \(page) of its log is not as it was written")
        }
        let check = try Statement("PRAGMA quick_check(1)", on: connection.database)
        let verdict = try check.next() ? check.text() : "no answer"
        check.reset()
        guard verdict == "ok" else { throw .damaged(verdict.split(separator: "\n").joined(separator: " ")) }
    }

    /// Checks the next pages of the file, as they are on the disk: whether each page of a table or an index begins as
    /// one. Call it only while the file is whole, that is after the log was moved into it.
    /// - Throws: `damaged`, or the error of reading it.
    mutating func somePages(_ connection: Connection) throws(SQLiteFailure) {
        var pages = try StorePages(connection)
        guard pages.count > 1 else { return }
        if nextPage > pages.count { nextPage = 1 }
        let end = min(pages.count, nextPage + Self.pages - 1)
        for page in nextPage...end where StorePages.isUsed(page) {
            let bytes = try pages.read(page)
            var isPlausible = true
            if page == 1 {
                isPlausible = bytes.starts(with: "SQLite format 3\0".utf8)
                // Another page size, or no pointer map: nothing is known of the others.
                guard !isPlausible || StorePages.isKnownLayout(bytes) else { return }
            } else {
                switch try pages.kind(of: page) {
                case .map(let isMapPlausible): isPlausible = isMapPlausible
                case .tree: isPlausible = StorePages.gap(in: bytes) != nil
                case .other: break
                case .unknown: isPlausible = false
                }
            }
            // The whole check decides, which knows more.
            if !isPlausible { try Self.all(connection) }
        }
        nextPage = end + 1
    }

    /// The first page of the log that is not as SQLite wrote it; nil if all are. SQLite reads a log's checksums at a
    /// start only. See "WAL Format" in SQLite's file format.
    private static func brokenLogPage(_ connection: Connection) throws(SQLiteFailure) -> Int? {
        guard connection.logPages > 0 else { return nil }
        let header = try connection.read(.log, 32, at: 0)
        let isBigEndian = header[3] & 1 == 1
        var sums = checksum(header[..<24], (0, 0), isBigEndian)
        guard sums == pair(header[24..<32]) else { return 0 }
        for index in 0..<connection.logPages {
            let frame = try connection.read(
                .log, 24 + StorePages.bytes, at: 32 + Int64(index) * Int64(24 + StorePages.bytes))
            sums = checksum(frame[24...], checksum(frame[..<8], sums, isBigEndian), isBigEndian)
            guard frame[8..<16].elementsEqual(header[16..<24]), sums == pair(frame[16..<24]) else { return index + 1 }
        }
        return nil
    }

    private static func checksum(
        _ bytes: ArraySlice<UInt8>, _ former: (UInt32, UInt32), _ isBigEndian: Bool
    ) -> (UInt32, UInt32) {
        var (first, second) = former
        bytes.withUnsafeBytes { buffer in
            for offset in stride(from: 0, to: buffer.count & ~7, by: 8) {
                let words = (
                    buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self),
                    buffer.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                )
                first = first &+ second &+ (isBigEndian ? words.0.bigEndian : words.0.littleEndian)
                second = second &+ first &+ (isBigEndian ? words.1.bigEndian : words.1.littleEndian)
            }
        }
        return (first, second)
    }

    private static func pair(_ bytes: ArraySlice<UInt8>) -> (UInt32, UInt32) {
        let words = bytes.withUnsafeBytes { buffer in
            (buffer.loadUnaligned(as: UInt32.self), buffer.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        }
        return (words.0.bigEndian, words.1.bigEndian)
    }
}

internal import CRingwakeArchive
internal import Glibc
internal import RingwakeCore

/// Reads a tar with zstd, of which nothing is trusted.
///
/// libarchive does it twice: one reader decompresses, the other reads the tar from it. So the bytes between them can be
/// counted and limited, and what follows the end of the tar is seen.
final class TarReader {
    /// One header.
    struct Entry {
        /// As it is in the archive; nil if it is no text.
        let name: String?
        let isRegular: Bool
        /// Nil if the header has none.
        let bytes: Int64?
    }

    /// Bytes of the file that are read at once.
    private static let blockBytes = 65_536

    /// Maximum decompressed bytes from the beginning. Reading more is a failure.
    var limit: Int64

    private let library: ArchiveLibrary
    private let file: OpenFile
    private let path: String
    private let compressed: OpaquePointer
    private let tar: OpaquePointer
    private var decompressedBytes: Int64 = 0
    /// Bytes up to the last one that isn't 0.
    private var usedBytes: Int64 = 0
    /// Bytes up to the end of the last file.
    private var readBytes: Int64 = 0
    /// Why no more bytes came. What the reader of the tar says then is a consequence.
    private var failure: String?

    /// - Parameters:
    ///   - file: read from where it is.
    ///   - path: for messages.
    init(_ library: ArchiveLibrary, _ file: OpenFile, path: String, limit: Int64) throws(RingwakeError) {
        (self.library, self.file, self.path, self.limit) = (library, file, path, limit)
        let functions = library.functions
        let noMemory = RingwakeError(.failed, "there is no memory to read \(path); end other programs")
        guard let compressed = functions.archive_read_new() else { throw noMemory }
        guard let tar = functions.archive_read_new() else {
            _ = functions.archive_read_free(compressed)
            throw noMemory
        }
        (self.compressed, self.tar) = (compressed, tar)
        // Just one layer of zstd: libarchive would look for compression within compression.
        var entry: OpaquePointer?
        guard functions.archive_read_append_filter(compressed, ARCHIVE_FILTER_ZSTD) == ARCHIVE_OK,
            functions.archive_read_support_format_raw(compressed) == ARCHIVE_OK,
            functions.archive_read_open_fd(compressed, file.number, Self.blockBytes) == ARCHIVE_OK,
            functions.archive_read_next_header(compressed, &entry) == ARCHIVE_OK
        else { throw damage(compressed) }
        let reader = Unmanaged.passUnretained(self).toOpaque()
        guard functions.archive_read_support_format_tar(tar) == ARCHIVE_OK,
            functions.archive_read_open(tar, reader, nil, nextBlock, nil) == ARCHIVE_OK
        else { throw damage(tar) }
    }

    deinit {
        _ = library.functions.archive_read_free(tar)
        _ = library.functions.archive_read_free(compressed)
    }

    /// The next header; nil at the end of the tar. What wasn't read of the last file is skipped.
    func next() throws(RingwakeError) -> Entry? {
        let functions = library.functions
        var entry: OpaquePointer?
        switch functions.archive_read_next_header(tar, &entry) {
        case ARCHIVE_EOF where failure == nil: return nil
        // A warning is about a name in an unknown character set and the like: our writer makes none.
        case ARCHIVE_OK where failure == nil: break
        default: throw damage(tar)
        }
        let isLink = functions.archive_entry_hardlink(entry) != nil
        return Entry(
            name: functions.archive_entry_pathname(entry).map { String(cString: $0) },
            isRegular: !isLink && functions.archive_entry_filetype(entry) == ringwake_archive_regular_file,
            bytes: functions.archive_entry_size_is_set(entry) != 0 ? functions.archive_entry_size(entry) : nil)
    }

    /// The next bytes of the file, valid until the next call; nil at its end.
    func read() throws(RingwakeError) -> UnsafeRawBufferPointer? {
        var (start, count, offset): (UnsafeRawPointer?, Int, Int64) = (nil, 0, 0)
        switch library.functions.archive_read_data_block(tar, &start, &count, &offset) {
        case ARCHIVE_EOF where failure == nil:
            readBytes = library.functions.archive_filter_bytes(tar, 0)
            return nil
        case ARCHIVE_OK where failure == nil: return UnsafeRawBufferPointer(start: start, count: count)
        default: throw damage(tar)
        }
    }

    /// Reads to the end of the file. Zeros may follow the tar, nothing else.
    func finish() throws(RingwakeError) {
        var block: UnsafeRawPointer?
        while case let count = decompress(&block), count != 0 {
            guard count > 0 else { break }
        }
        if let failure { throw .damagedBackup(path, failure) }
        guard usedBytes <= readBytes else { throw .damagedBackup(path, "something follows its last member") }
    }

    private func damage(_ archive: OpaquePointer) -> RingwakeError {
        .damagedBackup(path, failure ?? library.failure(of: archive).text)
    }

    /// The next decompressed bytes, for libarchive: their number, 0 at the end, -1 after a failure.
    fileprivate func decompress(_ block: inout UnsafeRawPointer?) -> Int {
        guard failure == nil else { return -1 }
        var (start, count, offset): (UnsafeRawPointer?, Int, Int64) = (nil, 0, 0)
        switch library.functions.archive_read_data_block(compressed, &start, &count, &offset) {
        case ARCHIVE_EOF: return 0
        case ARCHIVE_OK: break
        default:
            failure = library.failure(of: compressed).text
            return -1
        }
        guard Int64(count) <= limit - decompressedBytes else {
            failure = "it has more bytes than its manifest says"
            return -1
        }
        let bytes = UnsafeRawBufferPointer(start: start, count: count)
        if let last = bytes.lastIndex(where: { $0 != 0 }) { usedBytes = decompressedBytes + Int64(last) + 1 }
        decompressedBytes += Int64(count)
        block = start
        return count
    }
}

private func nextBlock(
    _: OpaquePointer?, _ reader: UnsafeMutableRawPointer?, _ block: UnsafeMutablePointer<UnsafeRawPointer?>?
) -> Int {
    guard let reader, let block else { return -1 }
    return Unmanaged<TarReader>.fromOpaque(reader).takeUnretainedValue().decompress(&block.pointee)
}

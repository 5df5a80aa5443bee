internal import CRingwakeArchive
internal import Glibc
internal import RingwakeCore

/// Writes a tar (pax) with zstd to a file.
final class TarWriter {
    private let library: ArchiveLibrary
    private let file: OpenFile
    private let target: String
    private let archive: OpaquePointer
    private let entry: OpaquePointer

    /// - Parameter target: the path for messages.
    init(_ library: ArchiveLibrary, _ file: OpenFile, target: String) throws(RingwakeError) {
        (self.library, self.file, self.target) = (library, file, target)
        let functions = library.functions
        guard let archive = functions.archive_write_new(), let entry = functions.archive_entry_new() else {
            throw RingwakeError(.failed, "there is no memory to pack \(target); end other programs")
        }
        (self.archive, self.entry) = (archive, entry)
        // A warning means a libarchive without zstd, which starts a program for it.
        guard functions.archive_write_add_filter_zstd(archive) == ARCHIVE_OK,
            functions.archive_write_set_format_pax_restricted(archive) == ARCHIVE_OK,
            functions.archive_write_open_fd(archive, file.number) == ARCHIVE_OK
        else { throw failure() }
    }

    deinit {
        // An archive that wasn't closed is given up: nothing more is written.
        _ = library.functions.archive_write_fail(archive)
        _ = library.functions.archive_write_free(archive)
        library.functions.archive_entry_free(entry)
    }

    /// Begins a file. `bytes` bytes must follow.
    func begin(_ name: MemberName, bytes: Int64, mode: FileMode, modified: Int64) throws(RingwakeError) {
        let functions = library.functions
        functions.archive_entry_set_pathname(entry, name.description)
        functions.archive_entry_set_filetype(entry, ringwake_archive_regular_file)
        functions.archive_entry_set_perm(entry, mode.bits)
        functions.archive_entry_set_size(entry, bytes)
        functions.archive_entry_set_mtime(entry, time_t(modified), 0)
        guard functions.archive_write_header(archive, entry) == ARCHIVE_OK else { throw failure() }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(RingwakeError) {
        guard library.functions.archive_write_data(archive, bytes.baseAddress, bytes.count) == bytes.count else {
            throw failure()
        }
    }

    /// Adds a file that is in memory.
    func add(_ name: MemberName, _ contents: [UInt8], modified: Int64) throws(RingwakeError) {
        try begin(name, bytes: Int64(contents.count), mode: FileMode(0o600), modified: modified)
        let isWritten = contents.withUnsafeBytes {
            library.functions.archive_write_data(archive, $0.baseAddress, $0.count) == $0.count
        }
        guard isWritten else { throw failure() }
    }

    /// Ends the archive.
    func close() throws(RingwakeError) {
        guard library.functions.archive_write_close(archive) == ARCHIVE_OK else { throw failure() }
    }

    private func failure() -> RingwakeError {
        let (text, number) = library.failure(of: archive)
        switch number {
        case ENOSPC, EDQUOT, EFBIG, EROFS: return .unwritable(target, number)
        default:
            return RingwakeError(.failed, "packing \(target) failed: \(text); try again, or choose another disk")
        }
    }
}

internal import CRingwakeArchive
internal import Glibc
internal import RingwakeCore

/// libarchive, loaded when it is first used. Its functions are called through pointers.
final class ArchiveLibrary: Sendable {
    /// Once in the process.
    static let loaded: Result<ArchiveLibrary, RingwakeError> = load()

    let functions: ringwake_archive

    private init(_ functions: ringwake_archive) {
        self.functions = functions
    }

    /// What libarchive says about its last failure, and the `errno` of a system call that failed; else another number.
    func failure(of archive: OpaquePointer?) -> (text: String, errno: Int32) {
        let text = functions.archive_error_string(archive).map { MemberName.printable(String(cString: $0)) }
        return (text ?? "libarchive gives no reason", functions.archive_errno(archive))
    }

    private static func load() -> Result<ArchiveLibrary, RingwakeError> {
        var functions = ringwake_archive()
        var why: UnsafePointer<CChar>?
        guard ringwake_archive_load(&functions, &why) else {
            let reason = why.map { String(cString: $0) } ?? "it lacks a function"
            return .failure(
                RingwakeError(
                    .failed, "libarchive cannot be loaded: \(reason); install libarchive with zstd (libarchive13)"))
        }
        return .success(ArchiveLibrary(functions))
    }
}

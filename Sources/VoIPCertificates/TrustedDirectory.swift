import FileSystem
import Glibc
package import RingwakeCore

/// Where root may write. Root's files have to be where only root makes names (decision 0035).
package enum TrustedDirectory {
    /// Throws `notPermitted` if this process is root's, and another user decides what a name in the directory stands for.
    /// Such a name may be a link to any file. A missing directory is judged by its nearest parent.
    package static func require(_ path: String) throws(RingwakeError) {
        guard geteuid() == 0 else { return }
        let isDecidedByOthers: Bool
        do throws(FileSystemError) {
            isDecidedByOthers = try FileSystem.isDecidedByOthers(directory: path)
        } catch {
            throw RingwakeError(error.isDenied ? .notPermitted : .system, "\(path) cannot be examined: \(error.reason)")
        }
        guard isDecidedByOthers else { return }
        throw RingwakeError(
            .notPermitted,
            "\(path) belongs to another user, or others may write to it, so root writes nothing there: a link could lead to "
                + "any file; run this as that user, or choose a directory that only root can write")
    }
}

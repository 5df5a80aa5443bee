internal import CRingwakeLinux
internal import Glibc

/// Files of the runtime directory that have no name, so that nothing is left of them.
enum UnnamedFile {
    private static var namesMade = 0

    /// Opens a new one, for reading and appending. Returns -1 with errno if the kernel refuses.
    static func open(in directory: String) -> Int32 {
        let unnamed = ringwake_open_unnamed(directory, 0o600)
        // The errors of a file system without unnamed files.
        guard unnamed < 0, errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL else { return unnamed }
        namesMade += 1
        let path = "\(directory)/.handler-file.\(getpid()).\(namesMade)"
        let named = ringwake_open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL, 0o600)
        if named >= 0 { unlink(path) }
        return named
    }
}

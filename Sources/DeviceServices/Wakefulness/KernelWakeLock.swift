internal import FileSystem
internal import Glibc
internal import RingwakeCore

/// A wakeup source of the kernel that user space holds: while it is active, the machine doesn't suspend by itself.
///
/// It belongs to no process, so it is taken for a limited time and renewed: after a `kill -9` of the daemon it ends
/// by itself, and a daemon that starts releases the one that a former daemon left.
///
/// See `/sys/power/wake_lock` in the kernel's Documentation/ABI/testing/sysfs-power. It exists with
/// CONFIG_PM_WAKELOCKS, and writing to it requires CAP_BLOCK_SUSPEND.
nonisolated struct KernelWakeLock {
    /// `/sys/power`, or its stand-in for a test.
    let directory: String
    let name: String
    /// How long the kernel holds it without a renewal.
    let timeout: Duration

    /// Time from taking it to its renewal.
    var renewal: Duration { timeout / 2 }

    /// Takes it, or renews it.
    /// - Returns: Nil, or the error and what to do.
    func take() -> String? {
        let path = "\(directory)/wake_lock"
        switch SmallFile.write("\(name) \(timeout.saturatingNanoseconds)", to: path, isMade: false) {
        case 0: return nil
        case ENOENT: return "\(path) is not there: the kernel is built without CONFIG_PM_WAKELOCKS"
        case EACCES, EPERM:
            return "\(path) may not be written to: it takes CAP_BLOCK_SUSPEND and a right to write to the file"
        case let errno: return "\(path) cannot be written to: \(String(cString: strerror(errno)))"
        }
    }

    /// Releases it.
    /// - Returns: Nil, or why the kernel refused.
    func release() -> String? {
        let path = "\(directory)/wake_unlock"
        let errno = SmallFile.write(name, to: path, isMade: false)
        return errno == 0 ? nil : "\(path) cannot be written to: \(String(cString: strerror(errno)))"
    }

    /// Whether the kernel holds it now, whichever process took it.
    var isActive: Bool {
        // The names of those that are active, with blanks between.
        let names = (try? FileSystem.read("\(directory)/wake_lock", maximumSize: 65_536)) ?? []
        return String(decoding: names, as: UTF8.self).split(whereSeparator: \.isWhitespace).contains { $0 == name }
    }
}

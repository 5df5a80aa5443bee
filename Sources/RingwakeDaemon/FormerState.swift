internal import FileSystem
internal import Logging
internal import RingwakeCore

/// State that an earlier version left among the configuration.
///
/// The user's unit once had `StateDirectory=`, which systemd before version 254 puts below the user's configuration
/// folder. There `systemctl --user clean --what=state` deleted configuration and keys, and a daemon that was started by
/// hand had other tokens.
///
/// ```
/// former/* --rename each--> new.moving/ --rename--> new/
/// ```
/// A crash in between leaves `new.moving`, and the next start continues. Nothing is moved if the new folder has state.
struct FormerState {
    /// The folder that has the state among other files.
    let former: String
    /// Where the state belongs.
    let current: String

    /// What belongs to the state: the lock, the tokens with their copies, the store and what belongs to it, the index
    /// of callers, and what was changed on an audio server.
    private static func isState(_ name: String) -> Bool {
        ["lock", "tokens.json", "identity.json", StateDirectory.protection, "apps", "copies", "damaged"].contains(name)
            || ["store.", "callers.index", "audio-effects"].contains { name.hasPrefix($0) }
    }

    /// What an opened state always has.
    private static let evidence = ["tokens.json", "store.db"]

    private var moving: String { current + ".moving" }

    /// Moves the state, if there is any to move.
    ///
    /// - Throws: `inUse` if a daemon uses it; `system` if it can't be moved. Nothing is lost then.
    func move(_ logger: Logger) throws(RingwakeError) {
        guard FileSystem.exists(moving) || FormerState.hasState(former) else { return }
        guard !FormerState.hasState(current) else {
            return logger.warning(
                "an earlier version's state is ignored, because there is newer state; remove its files if they are not needed",
                metadata: ["ignored": "\(former)", "used": "\(current)"])
        }
        // An earlier version's daemon may still run.
        let lock = try Daemon.lock(former)
        defer { withExtendedLifetime(lock) {} }
        do throws(FileSystemError) {
            try FileSystem.createDirectory(moving, mode: 0o700)
            for name in try FileSystem.entries(of: former) where FormerState.isState(name) {
                try FileSystem.move(former + "/" + name, to: moving + "/" + name)
            }
            // Replaces an empty directory (rename(2)).
            try FileSystem.move(moving, to: current)
        } catch {
            throw RingwakeError(
                .system,
                "the state of an earlier version cannot be moved from \(former) to \(current): \(error.description); "
                    + "make both writable for this user, or set state_directory to \(former)")
        }
        logger.notice(
            "the state of an earlier version has been moved out of the configuration folder",
            metadata: ["from": "\(former)", "to": "\(current)"])
    }

    private static func hasState(_ directory: String) -> Bool {
        evidence.contains { FileSystem.exists(directory + "/" + $0) }
    }
}

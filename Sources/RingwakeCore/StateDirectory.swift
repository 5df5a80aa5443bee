/// The names in the state directory that more than one part has to know.
package enum StateDirectory {
    /// What a backup leaves out, by the beginning of its name. The store is copied by itself; the rest is made again from
    /// other files, belongs to a running daemon or to an audio server that runs now, or is what a restore has left.
    private static let leftOut =
        ["store.", "lock", "callers.index", "audio-effects", "damaged", restore, aside, "."]

    /// The keys of protected records.
    package static let protection = "protection.json"
    /// The beginning of the names that a restore works with.
    package static let restore = "restore."
    /// The beginning of the folders that former states were moved to.
    package static let aside = "before-restore-"

    /// Whether a backup has the file, and a restore takes it.
    package static func isBackedUp(_ name: String) -> Bool { !leftOut.contains { name.hasPrefix($0) } }

    /// Whether a restore leaves the file where it is: it takes the place of all others.
    package static func staysInRestore(_ name: String) -> Bool {
        // The reserve is room on the disk, and e2fsck has its folder in each file system.
        ["lock", "store.reserve", "lost+found"].contains(name) || name.hasPrefix(restore) || name.hasPrefix(aside)
    }

    /// Whether a directory with such a file is one of a daemon.
    package static func isEvidence(_ name: String) -> Bool {
        ["store.db", "tokens.json", "identity.json"].contains(name)
    }
}

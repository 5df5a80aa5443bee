/// The first line that `ringwaked --store restore` reads: which backup, and how. The second line is an ``IdlePassphrase``,
/// of protected records in the backup. Then it prepares everything, and prints a ``RestoreLine`` with what it has prepared.
/// The third line, `commit`, puts that in place; the end of its input removes it.
package struct RestoreOrder: Codable, Equatable, Sendable {
    /// Whose identity and device tokens the restored state has.
    package enum Identity: String, Codable, Sendable {
        /// Those of the backup on the machine that it is of, new ones on another.
        case automatic
        /// Those of the backup.
        case kept
        /// New ones.
        case new
    }

    /// The last line.
    package static let commit = "commit"

    /// The folder that the backup was unpacked into, which the owner of the state directory may change.
    package var folder: String
    /// The folder that the present state is moved to, in the state directory.
    package var aside: String
    /// Whether the records are added to the present state, which stays.
    package var merges: Bool
    package var identity: Identity
    /// New identifiers of apps by their former ones.
    package var apps: [String: String]

    package init(folder: String, aside: String, merges: Bool, identity: Identity, apps: [String: String]) {
        self.folder = folder
        self.aside = aside
        self.merges = merges
        self.identity = identity
        self.apps = apps
    }
}

/// One line of what `ringwaked --store restore` prints.
package struct RestoreLine: Codable, Equatable, Sendable {
    /// How far a migration is.
    package var progress: StoreLine.Progress?
    /// What is ready to be put in place.
    package var prepared: Prepared?
    /// Whether it is in place; false: the running daemon does it when it starts the next time.
    package var isComplete: Bool?
    /// What has kept it from being put in place now.
    package var why: String?
    /// What a merge has added and left out, in records by kind.
    package var added: [String: Int]?
    package var skipped: [String: Int]?

    /// What a restore will bring.
    package struct Prepared: Codable, Equatable, Sendable {
        /// Versions of the store in the backup and of the one that was made of it.
        package var fromVersion: Int64
        package var version: Int64
        /// Records by kind.
        package var rows: [String: Int64]
        /// Whether identity and device tokens are new.
        package var isNewDevice: Bool
        /// What was found damaged in the backup's store.
        package var damage: [String]

        package init(fromVersion: Int64, version: Int64, rows: [String: Int64], isNewDevice: Bool, damage: [String]) {
            self.fromVersion = fromVersion
            self.version = version
            self.rows = rows
            self.isNewDevice = isNewDevice
            self.damage = damage
        }
    }

    package init(
        progress: StoreLine.Progress? = nil, prepared: Prepared? = nil, isComplete: Bool? = nil, why: String? = nil,
        added: [String: Int]? = nil, skipped: [String: Int]? = nil
    ) {
        self.progress = progress
        self.prepared = prepared
        self.isComplete = isComplete
        self.why = why
        self.added = added
        self.skipped = skipped
    }
}

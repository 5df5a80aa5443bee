import FileSystem

/// The folder of the daemon's backups.
struct BackupsLook: Equatable {
    var folder: String
    /// Nil if there is none.
    var last: LastBackup?

    init(folder: String, last: LastBackup?) {
        self.folder = folder
        self.last = last
    }

    /// Nil if this user may not look into the folder.
    ///
    /// - Parameter now: seconds since 1970.
    init?(folder: String, now: Int64) {
        do throws(FileSystemError) {
            self.init(folder: folder, last: try LastBackup.find(in: folder, now: now))
        } catch {
            return nil
        }
    }
}

/// The units that make backups, as systemd reports them.
struct BackupScheduleLook: Equatable {
    /// Whether the timer starts the service.
    var isEnabled: Bool
    var service: UnitLook
}

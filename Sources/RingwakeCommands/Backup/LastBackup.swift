import BackupArchive
import FileSystem

/// The newest backup in a folder. Its name says when it was made; nothing else records that.
struct LastBackup: Encodable, Equatable {
    let file: String
    let created: BackupTime
    /// Milliseconds since then.
    let agoMs: Int64

    init(file: String, created: BackupTime, now: Int64) {
        self.file = file
        self.created = created
        agoMs = max(0, now - created.secondsSince1970) * 1_000
    }

    /// Nil if the folder has none, or is not there.
    ///
    /// - Parameter now: seconds since 1970. A clock that was wrong may have dated a backup in the future; an older one
    ///   says more about the age.
    static func find(in folder: String, now: Int64) throws(FileSystemError) -> LastBackup? {
        do throws(FileSystemError) {
            let names = try FileSystem.entries(of: folder).compactMap { BackupName($0) }
            guard let name = names.filter({ $0.time.secondsSince1970 <= now }).max() ?? names.max() else { return nil }
            return LastBackup(file: "\(folder)/\(name)", created: name.time, now: now)
        } catch {
            guard error.isMissing else { throw error }
            return nil
        }
    }
}

internal import Database
internal import FileSystem
internal import RingwakeCore
internal import StoreMigration

/// Makes a new store of what can be read of a damaged one, sets the damaged one aside, and puts the new one in its place.
nonisolated struct StoreRebuild {
    let order: StoreOpening.Order
    let seal: StoreSeal
    /// How far the store was committed, as a former run noted it.
    let sealed: StorePosition?

    /// - Parameter damage: what was found.
    /// - Returns: what happened, for a person.
    func replace(_ damage: String) throws(StoreOpeningFailure) -> String {
        let replacement = StoreReplacement(inDirectory: order.directory)
        var isAside = false
        var why = ""
        do throws(StoreOpeningFailure) {
            let (position, copied) = try make(at: replacement.new)
            let lost = (sealed?.newestPush ?? position.newestPush) - position.newestPush
            why =
                "\(order.path) was damaged (\(damage)) and is set aside; \(copied)"
                + (lost > 0 ? "; its newest \(lost) pushes are lost, although they were answered 200" : "")
            try withStoreFiles { () throws(FileSystemError) in
                let stamp = try replacement.finishNew()
                try StoreFile.setAside(inDirectory: order.directory, why: why)
                isAside = true
                // The former seal counts the log that is aside now.
                seal.write(StoreSeal.Contents(position: position, stamp: stamp), isDurable: true)
                try replacement.putInPlace()
            }
            return why
        } catch {
            // The next attempt puts the new store in place.
            if isAside { throw error.adding(why) }
            replacement.removeRemains()
            throw error
        }
    }

    /// Makes a new store of what can be read of the damaged one, which stays as it is.
    /// - Returns: how far it is committed, and what was copied.
    private func make(at path: String) throws(StoreOpeningFailure) -> (StorePosition, copied: String) {
        try withStoreFiles { () throws(FileSystemError) in try FileSystem.create(path, mode: 0o600) }
        // Errors name the store: nobody knows the other file.
        return try withStore(order.path) { () throws(SQLiteFailure) in
            let salvage = try StoreSalvage(order.path, vfs: order.vfs, versions: order.versions)
            let connection = try Connection(path: path, vfs: order.vfs)
            do throws(SQLiteFailure) {
                _ = try StoreSettings.lock(connection)
                try StoreSettings.configure(connection, isNew: true, limits: order.limits)
                try StoreSettings.create(salvage.model, on: connection)
                let copied = try salvage.copy(into: connection)
                try connection.checkpoint()
                return (try StoreSettings.position(of: connection, logPages: 0), copied)
            } catch {
                connection.leaveLogAtClose()
                throw error
            }
        }
    }
}

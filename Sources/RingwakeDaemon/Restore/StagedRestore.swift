internal import ControlProtocol
internal import DataProtection
internal import FileSystem
internal import FoundationEssentials
internal import Glibc
internal import PushJournal
internal import RingwakeCore

/// A restore in the state directory, from its preparation to the moment when it is in place.
///
/// ```
/// restore.partial/ --commit--> restore.ready/ --former state moved aside--> restore.moving/ --moved up--> (gone)
/// ```
/// A crash before `restore.ready` leaves the former state as it was. After one behind it, the next start of the daemon, or
/// the next command, goes on where it stopped: no daemon runs between the two states.
struct StagedRestore {
    /// What a restore has done.
    struct Outcome {
        /// Where the former state is; nil after a merge.
        var aside: String?
        /// What a merge has added and left out.
        var records: PortableImport.Outcome?
    }

    /// The state directory.
    let directory: String

    /// Where everything is prepared.
    var partial: String { "\(directory)/\(StateDirectory.restore)partial" }
    /// Records between two reports: less than a second on a slow disk.
    private static let reportedRecords = 4_096
    private static let orderFile = "order.json"
    private var ready: String { "\(directory)/\(StateDirectory.restore)ready" }
    private var moving: String { "\(directory)/\(StateDirectory.restore)moving" }

    /// Whether one was committed and is not in place.
    var isWaiting: Bool { Self.isFolder(ready) || Self.isFolder(moving) }

    /// Takes the lock of restores: two must not prepare at once.
    ///
    /// - Throws: `inUse`.
    func lock() throws(RingwakeError) -> FileLock {
        do throws(FileSystemError) {
            return try FileLock(path: "\(directory)/\(StateDirectory.restore)lock")
        } catch {
            guard error.errno == EWOULDBLOCK else { throw Self.failure(error) }
            throw RingwakeError(.inUse, "another restore runs; wait until it has ended")
        }
    }

    /// Removes what was prepared and not committed.
    func discard() throws(RingwakeError) { try Self.removeAnything(partial) }

    private static func removeAnything(_ path: String) throws(RingwakeError) {
        try withFiles { () throws(FileSystemError) in
            if isFolder(path) {
                try FileSystem.removeTree(path)
            } else if FileSystem.exists(path) || FileSystem.isLink(path) {
                try FileSystem.remove(path)
            }
        }
    }

    /// Under a name of its own, so that a half-removed one is no restore.
    private func remove(_ path: String) throws(RingwakeError) {
        let done = "\(directory)/\(StateDirectory.restore)done"
        try Self.removeAnything(done)
        try Self.withFiles { () throws(FileSystemError) in
            try FileSystem.move(path, to: done)
            try FileSystem.removeTree(done)
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Makes what was prepared the state that ``finish(limits:clocks:)`` puts in place.
    ///
    /// - Throws: `conflict` if the folder for the present state exists.
    func commit(_ order: RestoreOrder) throws(RingwakeError) {
        let aside = "\(directory)/\(order.aside)"
        if !order.merges { try requireMovable() }
        guard Self.isName(order.aside), order.merges || !FileSystem.exists(aside) else {
            throw RingwakeError(
                .conflict, "\(aside) exists already, or is no place for a former state; nothing was changed")
        }
        try Self.withFiles { () throws(FileSystemError) in
            try FileSystem.replace("\(partial)/\(Self.orderFile)", with: controlJSON(order), mode: 0o600)
            try FileSystem.move(partial, to: ready)
        }
    }

    /// Puts a committed restore in place. The caller holds the lock of the state directory.
    ///
    /// - Parameters:
    ///   - report: called now and then while the records of a merge are added.
    ///   - keys: with which a merge writes records.
    /// - Returns: nil if there is none.
    /// - Throws: `system` if a file can't be put in its place; the next call goes on. `failed` for one that can't be used, and
    ///   `invalidRequest` or `limitReached` for a merge that can't be: these are given up and have changed nothing.
    func finish(
        limits: JournalLimits, report: () -> Void = {}, keys: () throws(RingwakeError) -> KeyRing,
        clocks: () throws(RingwakeError) -> JournalClocks
    ) throws(RingwakeError) -> Outcome? {
        if Self.isFolder(ready) {
            let order: RestoreOrder
            do throws(RingwakeError) { order = try readOrder(in: ready) } catch { throw try givingUp(error.message) }
            guard !order.merges else {
                return try merge(order, limits: limits, keys: try keys(), clocks: try clocks(), report)
            }
            try moveAside(to: order.aside)
        }
        guard Self.isFolder(moving) else { return nil }
        // It only says where the former state is: everything else goes on without.
        let aside = (try? readOrder(in: moving)).map { "\(directory)/\($0.aside)" }
        try Self.withFiles { () throws(FileSystemError) in
            for name in try FileSystem.entries(of: moving) where name != Self.orderFile {
                try FileSystem.move("\(moving)/\(name)", to: "\(directory)/\(name)")
            }
        }
        try remove(moving)
        return Outcome(aside: aside.flatMap { FileSystem.exists($0) ? $0 : nil })
    }

    private func readOrder(in folder: String) throws(RingwakeError) -> RestoreOrder {
        let path = "\(folder)/\(Self.orderFile)"
        let bytes = try Self.withFiles { () throws(FileSystemError) in try FileSystem.read(path, maximumSize: 1 << 20) }
        guard let order = try? JSONDecoder().decode(RestoreOrder.self, from: Data(bytes)), Self.isName(order.aside)
        else {
            throw RingwakeError(.failed, "\(path) was not written by a restore")
        }
        return order
    }

    /// Sets aside what waits and can't be used: a daemon has to start.
    private func givingUp(_ why: String) throws(RingwakeError) -> RingwakeError {
        let unusable = "\(directory)/\(StateDirectory.restore)unusable"
        try Self.removeAnything(unusable)
        try Self.withFiles { () throws(FileSystemError) in try FileSystem.move(ready, to: unusable) }
        return RingwakeError(
            .failed,
            "a restore that waited cannot be used: \(why). It is in \(unusable) now, and the state is as it was")
    }

    /// What has the name of a restored file has to be movable: otherwise the restore could not be completed, and the daemon
    /// not start.
    private func requireMovable() throws(RingwakeError) {
        var own = stat()
        guard lstat(directory, &own) == 0 else { return }
        let names = try Self.withFiles { () throws(FileSystemError) in try FileSystem.entries(of: partial) }
        for name in names where !StateDirectory.staysInRestore(name) {
            let path = "\(directory)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            let isMovable =
                status.st_mode & S_IFMT == S_IFDIR
                ? status.st_dev == own.st_dev && access(path, W_OK) == 0 : !isMountPoint(file: path)
            guard isMovable else {
                throw RingwakeError(
                    .conflict,
                    "\(path) cannot be moved aside: it is a mount point or another user's; nothing was changed")
            }
        }
    }

    /// Whether something is mounted on a file. Its device number says nothing: an overlay gives files those of its layers.
    private func isMountPoint(file path: String) -> Bool {
        let trial = "\(directory)/\(StateDirectory.restore)trial"
        unlink(trial)
        guard link(path, trial) == 0 else { return errno == EXDEV }
        unlink(trial)
        return false
    }

    private static func isName(_ aside: String) -> Bool {
        aside.hasPrefix(StateDirectory.aside) && !aside.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }

    private func moveAside(to aside: String) throws(RingwakeError) {
        try Self.withFiles { () throws(FileSystemError) in
            try FileSystem.createDirectory("\(directory)/\(aside)", mode: 0o700)
            for name in try FileSystem.entries(of: directory) where !StateDirectory.staysInRestore(name) {
                do throws(FileSystemError) {
                    try FileSystem.move("\(directory)/\(name)", to: "\(directory)/\(aside)/\(name)")
                } catch {
                    // A mount point, a folder of another user, a name that is no text: it is in nobody's way.
                    guard !FileSystem.exists("\(ready)/\(name)") else { throw error }
                }
            }
            // There was no state, as on a new machine.
            if try FileSystem.entries(of: "\(directory)/\(aside)").isEmpty {
                try FileSystem.removeTree("\(directory)/\(aside)")
            }
            try FileSystem.move(ready, to: moving)
        }
    }

    private func merge(
        _ order: RestoreOrder, limits: JournalLimits, keys: KeyRing, clocks: JournalClocks, _ report: () -> Void
    ) throws(RingwakeError) -> Outcome {
        let records = StagedRecords(folder: ready, limits: limits) { clocks }
        var number = 0
        let result: Result<PortableImport.Outcome, RingwakeError>
        do throws(RingwakeError) {
            let (outcome, _) = try records.read { next throws(RingwakeError) in
                try PortableImport.run(
                    inDirectory: directory, limits: limits, clocks: clocks, renaming: try Self.apps(of: order),
                    keys: keys
                ) { () throws(RingwakeError) in
                    number += 1
                    if number.isMultiple(of: Self.reportedRecords) { report() }
                    return try next()
                }
            }
            result = .success(outcome)
        } catch {
            switch error.code {
            case .invalidRequest, .limitReached: result = .failure(error)
            // The disk may take it the next time.
            case .system: throw error
            default: throw try givingUp(error.message)
            }
        }
        try remove(ready)
        return Outcome(records: try result.get())
    }

    /// The new identifiers of apps by their former ones.
    static func apps(of order: RestoreOrder) throws(RingwakeError) -> [AppID: AppID] {
        var apps: [AppID: AppID] = [:]
        for (former, new) in order.apps {
            guard let former = AppID(former), let new = AppID(new) else {
                throw RingwakeError(.invalidRequest, "'\(former)' or '\(new)' is no identifier of an app")
            }
            apps[former] = new
        }
        return apps
    }

    /// Says of a file's error that it is the state directory's.
    static func withFiles<Value>(
        _ body: () throws(FileSystemError) -> Value
    ) throws(RingwakeError) -> Value {
        do throws(FileSystemError) { return try body() } catch { throw failure(error) }
    }

    static func failure(_ error: FileSystemError) -> RingwakeError {
        RingwakeError(.system, "\(error.description); the state directory has to be writable and have room")
    }
}

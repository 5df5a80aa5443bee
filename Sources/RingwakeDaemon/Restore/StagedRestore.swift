internal import ControlProtocol
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
    /// The records of a merge.
    static let records = "records.jsonl"
    /// Records between two reports: less than a second on a slow disk.
    private static let reportedRecords = 4_096
    private static let orderFile = "order.json"
    private var ready: String { "\(directory)/\(StateDirectory.restore)ready" }
    private var moving: String { "\(directory)/\(StateDirectory.restore)moving" }

    /// Whether one was committed and is not in place.
    var isWaiting: Bool { FileSystem.exists(ready) || FileSystem.exists(moving) }

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
    func discard() throws(RingwakeError) {
        guard FileSystem.exists(partial) else { return }
        try withFiles { () throws(FileSystemError) in try FileSystem.removeTree(partial) }
    }

    /// Makes what was prepared the state that ``finish(limits:clocks:)`` puts in place.
    ///
    /// - Throws: `conflict` if the folder for the present state exists.
    func commit(_ order: RestoreOrder) throws(RingwakeError) {
        let aside = "\(directory)/\(order.aside)"
        guard Self.isName(order.aside), order.merges || !FileSystem.exists(aside) else {
            throw RingwakeError(
                .conflict, "\(aside) exists already, or is no place for a former state; nothing was changed")
        }
        try withFiles { () throws(FileSystemError) in
            try FileSystem.replace("\(partial)/\(Self.orderFile)", with: controlJSON(order), mode: 0o600)
            try FileSystem.move(partial, to: ready)
        }
    }

    /// Puts a committed restore in place. The caller holds the lock of the state directory.
    ///
    /// - Parameter report: called now and then while the records of a merge are added.
    /// - Returns: nil if there is none.
    /// - Throws: `system` if a file can't be moved; the next call goes on. An error of the records of a merge, which has
    ///   changed nothing then and is given up.
    func finish(
        limits: JournalLimits, report: () -> Void = {}, clocks: () throws(RingwakeError) -> JournalClocks
    ) throws(RingwakeError) -> Outcome? {
        var outcome: Outcome?
        if FileSystem.exists(ready) {
            let order = try readOrder()
            guard !order.merges else { return try merge(order, limits: limits, clocks: try clocks(), report) }
            try moveAside(to: order.aside)
            outcome = Outcome(aside: "\(directory)/\(order.aside)")
        }
        guard FileSystem.exists(moving) else { return outcome }
        try withFiles { () throws(FileSystemError) in
            for name in try FileSystem.entries(of: moving) where name != Self.orderFile {
                try FileSystem.move("\(moving)/\(name)", to: "\(directory)/\(name)")
            }
            try FileSystem.removeTree(moving)
        }
        return outcome ?? Outcome()
    }

    private func readOrder() throws(RingwakeError) -> RestoreOrder {
        let path = "\(ready)/\(Self.orderFile)"
        let bytes = try withFiles { () throws(FileSystemError) in try FileSystem.read(path, maximumSize: 1 << 20) }
        guard let order = try? JSONDecoder().decode(RestoreOrder.self, from: Data(bytes)),
            Self.isName(order.aside)
        else {
            throw RingwakeError(
                .system, "\(path) was not written by a restore; remove \(ready) to go on with the state as it is")
        }
        return order
    }

    private static func isName(_ aside: String) -> Bool {
        aside.hasPrefix(StateDirectory.aside) && !aside.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }

    private func moveAside(to aside: String) throws(RingwakeError) {
        try withFiles { () throws(FileSystemError) in
            try FileSystem.createDirectory("\(directory)/\(aside)", mode: 0o700)
            for name in try FileSystem.entries(of: directory) where !StateDirectory.staysInRestore(name) {
                try FileSystem.move("\(directory)/\(name)", to: "\(directory)/\(aside)/\(name)")
            }
            // There was no state, as on a new machine.
            if try FileSystem.entries(of: "\(directory)/\(aside)").isEmpty {
                try FileSystem.removeTree("\(directory)/\(aside)")
            }
            try FileSystem.move(ready, to: moving)
        }
    }

    private func merge(
        _ order: RestoreOrder, limits: JournalLimits, clocks: JournalClocks, _ report: () -> Void
    ) throws(RingwakeError) -> Outcome {
        var number = 0
        var lines = try LineInput(file: "\(ready)/\(Self.records)", maximumBytes: PortableImport.maximumLineBytes)
        let result: Result<PortableImport.Outcome, RingwakeError>
        do throws(RingwakeError) {
            result = .success(
                try PortableImport.run(
                    inDirectory: directory, limits: limits, clocks: clocks, renaming: try Self.apps(of: order)
                ) { () throws(RingwakeError) in
                    number += 1
                    if number.isMultiple(of: Self.reportedRecords) { report() }
                    return try lines.next()
                })
        } catch {
            // The disk may take it the next time; the contents will not be others.
            guard error.code == .invalidRequest || error.code == .limitReached else { throw error }
            result = .failure(error)
        }
        try withFiles { () throws(FileSystemError) in try FileSystem.removeTree(ready) }
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

    private func withFiles<Value>(
        _ body: () throws(FileSystemError) -> Value
    ) throws(RingwakeError) -> Value {
        do throws(FileSystemError) { return try body() } catch { throw Self.failure(error) }
    }

    static func failure(_ error: FileSystemError) -> RingwakeError {
        RingwakeError(.system, "\(error.description); the state directory has to be writable and have room")
    }
}

internal import ControlProtocol
internal import Cryptography
internal import DaemonConfiguration
internal import DataProtection
internal import FileSystem
internal import Glibc
internal import PushGateway
internal import PushJournal
internal import RingwakeCore
internal import StoreMigration

/// Makes a state directory of what a backup has, beside the present one: migrated, and of this device.
///
/// The present state is not touched. What is taken is moved out of the folder that the backup was unpacked into, or copied
/// if that is on another disk.
struct RestorePreparation {
    /// The keys of a link and of its pairing.
    private static let link = ["device.pem", "sealing.pem", "gateway.json"]

    private let staged: StagedRestore
    private let order: RestoreOrder
    private let limits: JournalLimits
    private let clocks: JournalClocks
    private let apps: [AppID: AppID]
    /// Of the protected records in the backup.
    private let passphrase: Passphrase?
    /// Those of ``apps`` that have records.
    private var renamed: Set<AppID> = []
    private var target: String { staged.partial }
    private var recordsFile: String { "\(target)/\(StagedRestore.records)" }

    init(
        _ staged: StagedRestore, _ order: RestoreOrder, _ passphrase: Passphrase?, limits: JournalLimits,
        clocks: JournalClocks
    ) throws(RingwakeError) {
        self.staged = staged
        self.order = order
        self.limits = limits
        self.clocks = clocks
        self.passphrase = passphrase
        apps = try StagedRestore.apps(of: order)
    }

    /// Prepares everything.
    ///
    /// - Parameter report: called now and then while an older store is migrated.
    /// - Throws: `conflict` for a store of a newer version, `invalidRequest` for records that are none, `system`.
    mutating func prepare(
        report: @escaping (MigrationProgress) -> Void
    ) throws(RingwakeError) -> RestoreLine.Prepared {
        try staged.discard()
        try StagedRestore.withFiles { () throws(FileSystemError) in try FileSystem.createDirectory(target, mode: 0o700)
        }
        var prepared = try takeStore(report)
        guard !order.merges else {
            if let unknown = apps.keys.first(where: { !renamed.contains($0) }) { throw Self.noApp(unknown) }
            return prepared
        }
        try takeState()
        prepared.damage += damagedKeys()
        prepared.damage += try settleIdentity(&prepared.isNewDevice)
        return prepared
    }

    /// What is wrong with the file of keys. Nothing else of the backup depends on it.
    private func damagedKeys() -> [String] {
        var damage: [String] = []
        do throws(RingwakeError) {
            _ = try ProtectionFile.read("\(target)/\(ProtectionFile.name)", repairs: false) { damage.append($0) }
        } catch {
            damage.append(error.message)
        }
        return damage
    }

    // MARK: - The store

    private mutating func takeStore(
        _ report: @escaping (MigrationProgress) -> Void
    ) throws(RingwakeError) -> RestoreLine.Prepared {
        let portable = "\(order.folder)/portable/records.jsonl"
        if FileSystem.exists(portable) {
            try take(portable, recordsFile)
            // Also of a merge, which would otherwise find out in the start of the daemon that these are no records.
            try importRecords()
            let made = try store().report()
            return try ending(
                .init(fromVersion: made.version, version: made.version, rows: made.rows, isNewDevice: false, damage: [])
            )
        }
        try take("\(order.folder)/store/store.db", IdleStore.path(inDirectory: target))
        let found = try store().report()
        let damage = try store().migrate(report: report)
        let made = try store().report()
        var prepared = RestoreLine.Prepared(
            fromVersion: found.version, version: made.version, rows: made.rows, isNewDevice: false, damage: damage)
        guard order.merges || !apps.isEmpty else {
            try store().endBoots()
            return prepared
        }
        prepared.damage += try exportRecords()
        try removeStore()
        if !apps.isEmpty { try importRecords() }
        return try ending(prepared)
    }

    /// Leaves the records for a merge, and the store for a replacement.
    private func ending(_ prepared: RestoreLine.Prepared) throws(RingwakeError) -> RestoreLine.Prepared {
        if order.merges {
            try removeStore()
        } else {
            try StagedRestore.withFiles { () throws(FileSystemError) in try FileSystem.remove(recordsFile) }
        }
        return prepared
    }

    private func store() throws(RingwakeError) -> IdleStore {
        try IdleStore(inDirectory: target, limits: limits, clocks: clocks)
    }

    /// - Returns: what of them is lost.
    private func exportRecords() throws(RingwakeError) -> [String] {
        let file = open(recordsFile, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw StagedRestore.failure(FileSystemError(operation: "create", path: recordsFile, errno: errno))
        }
        defer { close(file) }
        // Other numbers of calls and names of apps need other records, because these are bound to them.
        let keys = try IdleKeys(inDirectory: "\(order.folder)/state") { passphrase }
        let (locked, deleted) = try StandardStream(descriptor: file).write(
            try store().export(keys: keys.ring, header: StoreWork.header))
        guard locked == 0 else {
            throw RingwakeError(
                .locked,
                "\(locked) records of the backup are protected, and can't be read (\(keys.why)); make them readable, or "
                    + "restore without '--merge' and '--map'")
        }
        guard fsync(file) == 0 else {
            throw StagedRestore.failure(FileSystemError(operation: "sync", path: recordsFile, errno: errno))
        }
        return deleted > 0 ? ["\(deleted) records lack what was deleted with their keys"] : []
    }

    private mutating func importRecords() throws(RingwakeError) {
        var lines = try LineInput(file: recordsFile, maximumBytes: PortableImport.maximumLineBytes)
        renamed = try PortableImport.run(inDirectory: target, limits: limits, clocks: clocks, renaming: apps) {
            () throws(RingwakeError) in try lines.next()
        }.renamed
    }

    private func removeStore() throws(RingwakeError) {
        try StagedRestore.withFiles { () throws(FileSystemError) in
            for name in try FileSystem.entries(of: target) where name != StagedRestore.records {
                let path = "\(target)/\(name)"
                var status = stat()
                guard lstat(path, &status) == 0 else { continue }
                if status.st_mode & S_IFMT == S_IFDIR {
                    try FileSystem.removeTree(path)
                } else {
                    try FileSystem.remove(path)
                }
            }
        }
    }

    // MARK: - The other files

    private func takeState() throws(RingwakeError) {
        let source = "\(order.folder)/state"
        guard FileSystem.exists(source) else { return }
        let names = try StagedRestore.withFiles { () throws(FileSystemError) in try FileSystem.entries(of: source) }
        for name in names where StateDirectory.isBackedUp(name) {
            try takeTree("\(source)/\(name)", "\(target)/\(name)")
        }
        for name in Self.link where name.hasSuffix(".pem") && !FileSystem.exists("\(target)/\(name)") {
            // A backup without keys, on the machine that has them.
            let present = "\(staged.directory)/\(name)"
            guard FileSystem.exists(present) else { continue }
            try StagedRestore.withFiles { () throws(FileSystemError) in
                try FileSystem.copy(present, to: "\(target)/\(name)")
            }
        }
    }

    private func takeTree(_ source: String, _ destination: String) throws(RingwakeError) {
        var status = stat()
        guard lstat(source, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            return try take(source, destination)
        }
        let names = try StagedRestore.withFiles { () throws(FileSystemError) in
            try FileSystem.createDirectory(destination, mode: 0o700)
            return try FileSystem.entries(of: source)
        }
        for name in names { try takeTree("\(source)/\(name)", "\(destination)/\(name)") }
    }

    private func take(_ source: String, _ destination: String) throws(RingwakeError) {
        try StagedRestore.withFiles { () throws(FileSystemError) in
            do throws(FileSystemError) {
                try FileSystem.move(source, to: destination)
            } catch {
                guard error.errno == EXDEV || error.isDenied else { throw error }
                try FileSystem.copy(source, to: destination)
            }
        }
    }

    // MARK: - The device

    /// Renews identity and tokens if this is another device, and ends the tokens of apps that have another name now.
    ///
    /// - Returns: what was damaged.
    private func settleIdentity(_ isNewDevice: inout Bool) throws(RingwakeError) -> [String] {
        // The tokens first: they make the folders of second copies.
        let tokens = try TokenStore(directory: target)
        let machine = MachineID.hash()
        let identity = try IdentityStore(directory: target, machine: machine)
        try requireOrigin(identity, machine, tokens)
        let now = unixMilliseconds()
        isNewDevice = order.identity == .new || (order.identity == .automatic && identity.isCopied)
        if isNewDevice {
            try identity.reset()
        } else if identity.isCopied {
            try identity.accept()
        }
        let hasLink = !isNewDevice && FileSystem.exists("\(target)/device.pem")
        if !hasLink {
            try StagedRestore.withFiles { () throws(FileSystemError) in
                for path in Self.link.flatMap({ ["\(target)/\($0)", "\(target)/copies/\($0)"] })
                where FileSystem.exists(path) { try FileSystem.remove(path) }
            }
        }
        var said: [String] = []
        if !isNewDevice, !hasLink, tokens.device != nil {
            said = ["the keys of the link to the gateway are not in the backup: pair again; the device tokens are new"]
        }
        if isNewDevice || (!hasLink && tokens.device != nil) { try tokens.bind(to: nil, at: now) }
        for former in apps.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            if identity.identity != nil { try identity.remove(former) }
            do throws(RingwakeError) {
                try tokens.unregister(app: former, at: now)
            } catch {
                // It may have calls and no tokens.
                guard error.code == .notFound else { throw error }
                guard renamed.contains(former) else { throw Self.noApp(former) }
            }
        }
        return identity.damage + tokens.damage + said
    }

    /// Two devices with the same tokens would take each other's calls.
    private func requireOrigin(
        _ identity: IdentityStore, _ machine: String?, _ tokens: TokenStore
    ) throws(RingwakeError) {
        guard order.identity == .automatic, !tokens.isEmpty else { return }
        let why: String? =
            switch identity.identity {
            case nil: identity.problem ?? "it has no identity.json"
            case let known?: known.machine != nil && machine == nil ? "this machine has no /etc/machine-id" : nil
            }
        guard let why else { return }
        throw RingwakeError(
            .conflict,
            "nobody can tell whether the backup is of this machine (\(why)): say '--keep-identity' if it is, or if the "
                + "other machine is gone; '--new-identity' if the other one goes on")
    }

    private static func noApp(_ app: AppID) -> RingwakeError {
        RingwakeError(.notFound, "there is no app '\(app)' in the backup; nothing was changed")
    }
}

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
    private var records: StagedRecords {
        let clocks = clocks
        return StagedRecords(folder: target, limits: limits) { clocks }
    }

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
            try take(portable, records.lines)
            // Also of a merge, which would otherwise find out in the start of the daemon that these are no records.
            try importRecords(.off)
            let made = try store().report()
            try removeWhatIsNotNeeded()
            return .init(
                fromVersion: made.version, version: made.version, rows: made.rows, isNewDevice: false, damage: [])
        }
        let isWrittenAnew = order.merges || !apps.isEmpty
        if isWrittenAnew {
            try StagedRestore.withFiles { () throws(FileSystemError) in
                try FileSystem.createDirectory(records.source, mode: 0o700)
            }
        }
        let folder = isWrittenAnew ? records.source : target
        try take("\(order.folder)/store/store.db", IdleStore.path(inDirectory: folder))
        let former = try IdleStore(inDirectory: folder, limits: limits, clocks: clocks)
        let found = try former.report()
        let damage = try former.migrate(report: report)
        let made = try former.report()
        var prepared = RestoreLine.Prepared(
            fromVersion: found.version, version: made.version, rows: made.rows, isNewDevice: false, damage: damage)
        guard isWrittenAnew else {
            try former.endBoots()
            return prepared
        }
        prepared.damage += try writeAnew()
        return prepared
    }

    /// Other numbers of calls and names of apps need other records, because these are bound to them.
    ///
    /// - Returns: what of them is lost.
    private mutating func writeAnew() throws(RingwakeError) -> [String] {
        let found = try IdleKeys(inDirectory: "\(order.folder)/state") { passphrase }
        if let opened = found.opened { try records.take(opened) }
        var keys = try records.keys()
        for kind in ProtectedKind.allCases { keys.classes[kind] = kind.standardClass }
        let lost = try importRecords(keys)
        guard lost.locked == 0 else {
            throw RingwakeError(
                .locked,
                "\(lost.locked) records of the backup are protected, and can't be read (\(found.why)); make them readable, "
                    + "or restore without '--merge' and '--map'")
        }
        try removeWhatIsNotNeeded()
        return lost.deleted > 0 ? ["\(lost.deleted) records lack what was deleted with their keys"] : []
    }

    private func store() throws(RingwakeError) -> IdleStore {
        try IdleStore(inDirectory: target, limits: limits, clocks: clocks)
    }

    @discardableResult
    private mutating func importRecords(_ keys: KeyRing) throws(RingwakeError) -> StagedRecords.Lost {
        let (target, limits, clocks, apps) = (target, limits, clocks, apps)
        let (outcome, lost) = try records.read { next throws(RingwakeError) in
            try PortableImport.run(
                inDirectory: target, limits: limits, clocks: clocks, renaming: apps, keys: keys, next: next)
        }
        renamed = outcome.renamed
        return lost
    }

    /// Leaves the records for a merge, and the store for a replacement.
    private func removeWhatIsNotNeeded() throws(RingwakeError) {
        try StagedRestore.withFiles { () throws(FileSystemError) in
            for name in try FileSystem.entries(of: target) where StagedRecords.names.contains(name) != order.merges {
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

internal import ControlProtocol
internal import Cryptography
internal import DataProtection
internal import FileSystem
internal import Glibc
internal import PushJournal
internal import RingwakeCore

/// The records that a restore writes anew: the lines of a portable backup, or a store as it was backed up, with its keys.
///
/// What such a store protects is in no file as it is: the records go from the one store into the other, and the keys are
/// under a key of this restore, which goes with it.
struct StagedRecords {
    /// The folder that a restore is prepared in.
    let folder: String
    let limits: JournalLimits
    let clocks: () throws(RingwakeError) -> JournalClocks

    /// What could not be opened.
    struct Lost {
        /// Records whose keys aren't there, or that are damaged.
        var locked: Int64 = 0
        /// Records whose keys were deleted.
        var deleted: Int64 = 0
    }

    /// The names in the folder.
    static let names: Set = ["records.jsonl", "source"]

    var lines: String { "\(folder)/records.jsonl" }
    /// The folder with the store.
    var source: String { "\(folder)/source" }
    private var keyFile: String { "\(source)/root.key" }
    private var protection: String { "\(source)/\(ProtectionFile.name)" }

    var store: IdleStore {
        get throws(RingwakeError) { try IdleStore(inDirectory: source, limits: limits, clocks: try clocks()) }
    }

    /// Takes what opens the records of the store, under a key of this restore.
    func take(_ opened: (file: ProtectionFile, rootKey: RootKey)) throws(RingwakeError) {
        var bytes = try SecureRandom.bytes(RootKey.byteCount)
        defer { SecretBytes.wipe(&bytes) }
        try StagedRestore.withFiles { () throws(FileSystemError) in
            try FileSystem.replace(keyFile, with: bytes, mode: 0o600)
        }
        let key = RootKeySource.keyFile(keyFile)
        var file = opened.file
        try file.rewrap(from: opened.rootKey, to: try key.rootKey(credentialsDirectory: nil), source: key)
        try file.write(protection)
    }

    /// All keys of the store; none if nothing opens them.
    ///
    /// - Throws: `failed` or `badCredential` if they are damaged.
    func keys() throws(RingwakeError) -> KeyRing {
        guard let file = try ProtectionFile.read(protection, repairs: false) else { return .off }
        // The folder has another name than when the file was written.
        let rootKey = try RootKeySource.keyFile(keyFile).rootKey(credentialsDirectory: nil)
        return try file.ring(rootKey: rootKey, available: Set(ProtectionClass.withKeys), classes: [:])
    }

    /// Calls `body` with what returns the next record, and nil after the last one.
    ///
    /// - Throws: `failed` if the records can't be read; what `body` throws.
    func read<Value>(
        _ body: (() throws(RingwakeError) -> [UInt8]?) throws(RingwakeError) -> Value
    ) throws(RingwakeError) -> (Value, Lost) {
        guard FileSystem.exists(source) else {
            var input = try Self.reading { () throws(RingwakeError) in
                try LineInput(file: lines, maximumBytes: PortableImport.maximumLineBytes)
            }
            let value = try body { () throws(RingwakeError) in
                try Self.reading { () throws(RingwakeError) in try input.next() }
            }
            return (value, Lost())
        }
        var export = try Self.reading { () throws(RingwakeError) in
            try store.export(keys: try keys(), header: StoreWork.header)
        }
        let value = try body { () throws(RingwakeError) in
            try Self.reading { () throws(RingwakeError) in try export.next()?.dropLast() }
        }
        return (value, Lost(locked: export.locked, deleted: export.deleted))
    }

    /// What is wrong with the records is no fault of the disk that they go to.
    private static func reading<Value>(_ body: () throws(RingwakeError) -> Value) throws(RingwakeError) -> Value {
        do throws(RingwakeError) {
            return try body()
        } catch {
            throw error.code == .system ? RingwakeError(.failed, error.message) : error
        }
    }
}

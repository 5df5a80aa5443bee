import CRingwakeSQLite
import Glibc
import Synchronization

/// The functions of SQLite's layer for files that stand before the system's.
nonisolated enum FaultyLayer {
    static let name = "ringwake-faulty"

    typealias File = UnsafeMutablePointer<sqlite3_file>
    typealias Methods = UnsafeMutablePointer<sqlite3_io_methods>

    /// An open file: where it is, and the functions that the system has for it.
    // Sound: the table is a copy of pointers to functions, which anybody may call, and is never changed.
    struct OpenFile: @unchecked Sendable {
        let disk: FaultyDisk
        let name: String
        let methods: sqlite3_io_methods
    }

    /// By the addresses that SQLite calls with.
    private static let files = Mutex<[UInt: OpenFile]>([:])

    // Written once, by `register`, which runs before anything reads it.
    nonisolated(unsafe) private static var system: UnsafeMutablePointer<sqlite3_vfs>?

    /// Makes the layer known to SQLite, for the rest of the process.
    static func register() {
        guard let found = sqlite3_vfs_find(nil) else { return }
        system = found
        let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        layer.initialize(to: found.pointee)
        layer.pointee.pNext = nil
        layer.pointee.zName = UnsafePointer(strdup(name))
        layer.pointee.xOpen = { _, path, file, flags, outFlags in FaultyLayer.open(path, file, flags, outFlags) }
        layer.pointee.xDelete = { _, path, synchronize in
            if let found = FaultyDisk.find(path) { found.disk.note(.delete(file: found.name)) }
            return FaultyLayer.system?.pointee.xDelete(FaultyLayer.system, path, synchronize) ?? SQLITE_ERROR
        }
        sqlite3_vfs_register(layer, 0)
    }

    private static func open(
        _ path: UnsafePointer<CChar>?, _ file: File?, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        let found = FaultyDisk.find(path)
        var flags = flags
        if found?.disk.isReadOnly == true, flags & SQLITE_OPEN_READWRITE != 0 {
            guard flags & SQLITE_OPEN_MAIN_DB != 0 else { return SQLITE_CANTOPEN }
            flags = flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) | SQLITE_OPEN_READONLY
        }
        let code = system?.pointee.xOpen(system, path, file, flags, outFlags) ?? SQLITE_ERROR
        guard code == SQLITE_OK, let found, let file, let original = file.pointee.pMethods else { return code }
        let entry = OpenFile(disk: found.disk, name: found.name, methods: original.pointee)
        files.withLock { $0[UInt(bitPattern: file)] = entry }
        // Freed when the file is closed.
        let table = Methods.allocate(capacity: 1)
        table.initialize(to: original.pointee)
        table.pointee.xRead = { FaultyLayer.read($0, $1, $2, $3) }
        table.pointee.xWrite = { FaultyLayer.write($0, $1, $2, $3) }
        table.pointee.xSync = { file, _ in FaultyLayer.sync(file) }
        table.pointee.xTruncate = { FaultyLayer.truncate($0, $1) }
        table.pointee.xClose = { FaultyLayer.close($0) }
        file.pointee.pMethods = UnsafePointer(table)
        return code
    }

    private static func entry(_ file: File?) -> OpenFile? {
        files.withLock { $0[UInt(bitPattern: file)] }
    }

    private static func read(
        _ file: File?, _ bytes: UnsafeMutableRawPointer?, _ count: Int32, _ offset: Int64
    ) -> Int32 {
        guard let found = entry(file) else { return SQLITE_ERROR }
        return found.disk.readFailure(found.name) ?? found.methods.xRead(file, bytes, count, offset)
    }

    private static func write(_ file: File?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64) -> Int32 {
        guard let found = entry(file) else { return SQLITE_ERROR }
        if let failure = found.disk.plan(.write, found.name) { return failure }
        let copy = [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        found.disk.note(.write(file: found.name, offset: offset, bytes: copy))
        return found.methods.xWrite(file, bytes, count, offset)
    }

    private static func sync(_ file: File?) -> Int32 {
        guard let found = entry(file) else { return SQLITE_ERROR }
        let failure = found.disk.plan(.sync, found.name)
        found.disk.note(.sync(file: found.name, succeeded: failure == nil))
        return failure ?? SQLITE_OK
    }

    private static func truncate(_ file: File?, _ size: Int64) -> Int32 {
        guard let found = entry(file) else { return SQLITE_ERROR }
        if let failure = found.disk.plan(.truncate, found.name) { return failure }
        found.disk.note(.truncate(file: found.name, size: size))
        return found.methods.xTruncate(file, size)
    }

    private static func close(_ file: File?) -> Int32 {
        guard let file, let found = files.withLock({ $0.removeValue(forKey: UInt(bitPattern: file)) }) else {
            return SQLITE_ERROR
        }
        let table = UnsafeMutablePointer(mutating: file.pointee.pMethods)
        // The system's layer forgets its own table, not ours.
        let code = found.methods.xClose(file)
        table?.deallocate()
        return code
    }
}

internal import Glibc

/// A file in the state directory and its second copy, `copies/NAME`. Each is replaced atomically.
///
/// The copy is written first and removed first, so the file is the truth whenever it can be read: a change is in force
/// when the file has it. The copy stands in for a file that is damaged or gone.
package struct DoubleFile: Sendable {
    /// The folder of second copies, in the state directory.
    package static let copies = "copies"
    private static let mode: UInt32 = 0o600
    private static let folderMode: UInt32 = 0o700

    /// Why contents can't be used.
    package enum Fault: Error {
        /// What is wrong with them.
        case damaged(String)
        /// They are not damaged, but nothing may be done with them: why. A newer version wrote them, for example.
        case refused(String)
    }

    /// What was found, and the damage in words.
    package enum Reading<Value> {
        case absent
        case found(Value, damage: String?)
        /// The file and its copy are damaged: what is wrong. Both are where they were.
        case lost(String)
        /// One of the two can't be read, and the other one isn't good.
        case unreadable(FileSystemError)
        /// As ``Fault/refused(_:)``, of one of the two.
        case refused(String)
    }

    private enum Look<Value> {
        case missing
        case good(Value, bytes: [UInt8])
        /// Its contents are damaged.
        case bad(String)
        /// Its contents are unknown: it may not be read, or the disk fails. It stays where it is.
        case unreadable(FileSystemError)
    }

    /// The state directory.
    let directory: String
    /// The path of the file.
    package let path: String
    package let copyPath: String
    /// In bytes.
    let maximumSize: Int

    /// - Parameters:
    ///   - name: in the directory: `tokens.json`.
    ///   - maximumSize: of the file, in bytes.
    package init(name: String, directory: String, maximumSize: Int) {
        self.directory = directory
        self.maximumSize = maximumSize
        path = "\(directory)/\(name)"
        copyPath = "\(directory)/\(Self.copies)/\(name)"
    }

    /// Reads the file, or its copy. If one of them is good, the other one is replaced by it, and a damaged one is moved into
    /// the folder of damaged files. One that can't be read stays as it is, because its contents may be good.
    ///
    /// - Parameter repairs: false for a program that doesn't own the directory: it changes nothing, and reads the file alone
    ///   if that is good.
    package func read<Value>(
        repairs: Bool = true, _ parse: ([UInt8]) throws(Fault) -> Value
    ) -> Reading<Value> {
        let looks: (file: Look<Value>, copy: Look<Value>)
        do throws(Fault) {
            looks = (file: try look(at: path, parse), copy: try look(at: copyPath, parse))
        } catch {
            switch error {
            case .damaged(let why): return .lost(why)
            case .refused(let why): return .refused(why)
            }
        }
        if !repairs {
            switch looks {
            case (.good(let value, _), _), (_, .good(let value, _)): return .found(value, damage: nil)
            default: break
            }
        }
        switch looks {
        case (.good(let value, let bytes), .good(_, let copied)):
            return .found(value, damage: bytes == copied ? nil : repair(copyPath, with: bytes))
        case (.good(let value, let bytes), .missing):
            // Former versions made none.
            return .found(value, damage: repair(copyPath, with: bytes))
        case (.good(let value, let bytes), .bad(let why)):
            let damage = "the second copy of \(path) was damaged (\(why)) and is made anew"
            return .found(value, damage: replace(damaged: copyPath, with: bytes, damage))
        case (.good(let value, _), .unreadable(let error)):
            return .found(value, damage: "the second copy of \(path) cannot be read: \(error.description)")
        case (.bad(let why), .good(let value, let bytes)):
            let damage = "\(path) was damaged (\(why)); its second copy is used, and nothing is lost"
            return .found(value, damage: replace(damaged: path, with: bytes, damage))
        case (.unreadable(let error), .good(let value, _)):
            let damage = "\(path) cannot be read (\(error.reason)); its second copy is used, and nothing is lost"
            return .found(value, damage: damage)
        case (.missing, .good(let value, let bytes)):
            let damage = "\(path) was gone; its second copy is used, and nothing is lost"
            return .found(value, damage: repair(path, with: bytes) ?? damage)
        case (.unreadable(let error), _), (_, .unreadable(let error)): return .unreadable(error)
        case (.missing, .missing): return .absent
        case (.bad(let why), _), (.missing, .bad(let why)): return .lost(why)
        }
    }

    /// Replaces the file and its copy. After an error the file is the old one.
    package func write(_ bytes: [UInt8]) throws(FileSystemError) {
        try replace(copyPath, with: bytes)
        do throws(FileSystemError) {
            try replace(path, with: bytes)
        } catch {
            // The change is not in force, so the copy must not stand in with it. If that fails too, the next read mends it.
            if let former = try? FileSystem.read(path, maximumSize: maximumSize) {
                _ = repair(copyPath, with: former)
            }
            throw error
        }
    }

    /// Removes the file and its copy.
    package func remove() throws(FileSystemError) {
        for path in [copyPath, path] where FileSystem.exists(path) { try FileSystem.remove(path) }
    }

    /// Moves both into the folder of damaged files. One of them may be missing.
    package func setAside(_ why: String) throws(FileSystemError) {
        try DamageFolder(stateDirectory: directory).add([path, copyPath], why: why)
    }

    private func look<Value>(at path: String, _ parse: ([UInt8]) throws(Fault) -> Value) throws(Fault) -> Look<Value> {
        let bytes: [UInt8]
        do throws(FileSystemError) {
            bytes = try FileSystem.read(path, maximumSize: maximumSize)
        } catch {
            switch error.errno {
            case ENOENT: return .missing
            // Something else is in its place.
            case EISDIR, EFBIG, EINVAL, ELOOP, ENXIO: return .bad(error.reason)
            default: return .unreadable(error)
            }
        }
        do throws(Fault) {
            return .good(try parse(bytes), bytes: bytes)
        } catch {
            guard case .damaged(let why) = error else { throw error }
            return .bad(why)
        }
    }

    private func replace(_ path: String, with bytes: [UInt8]) throws(FileSystemError) {
        let folder = "\(directory)/\(Self.copies)"
        if path == copyPath, !FileSystem.exists(folder), FileSystem.exists(directory) {
            try FileSystem.createDirectory(folder, mode: Self.folderMode)
        }
        try FileSystem.replace(path, with: bytes, mode: Self.mode)
    }

    /// Writes one of the two as the other is. Reading goes on without: a disk may be full.
    ///
    /// - Returns: why it couldn't be written.
    private func repair(_ path: String, with bytes: [UInt8]) -> String? {
        do throws(FileSystemError) {
            try replace(path, with: bytes)
            return nil
        } catch {
            return "'\(path)' cannot be written: \(error.reason); check the folder's owner and the space on its disk."
        }
    }

    /// Sets one of the two aside, and writes it as the other is. If it can't be set aside it stays, and reading goes on
    /// without.
    ///
    /// - Parameter damage: what was found.
    /// - Returns: what to report.
    private func replace(damaged path: String, with bytes: [UInt8], _ damage: String) -> String {
        do throws(FileSystemError) {
            try DamageFolder(stateDirectory: directory).add([path], why: damage)
            return repair(path, with: bytes) ?? damage
        } catch {
            return "\(damage), and cannot be set aside: \(error.description); move it away."
        }
    }
}

import Cryptography
package import FileSystem
import FoundationEssentials
import Glibc
package import RingwakeCore

/// What a state file holds.
package nonisolated protocol StateContents: Codable {
    /// SHA-256 of the file without this member, in hex; nil in files of former versions. Damage can leave valid JSON:
    /// one other digit, and a token is another.
    var check: String? { get set }
}

/// A JSON state file of the gateway and its second copy, `copies/NAME`. Each is replaced atomically.
///
/// The copy is written first and removed first, so the file is the truth whenever it can be read: a change is in force
/// when the file has it. The copy stands in for a file that is damaged or gone.
package nonisolated struct StateFile<Contents: StateContents> {
    /// The name in the state directory: `tokens.json`.
    package let name: String
    /// The state directory.
    let directory: String
    /// Maximum bytes of the file.
    let maximumSize: Int
    /// What would follow if the file weren't there, for a person: "without it ...".
    let loss: String

    package init(name: String, directory: String, maximumSize: Int, loss: String) {
        self.name = name
        self.directory = directory
        self.maximumSize = maximumSize
        self.loss = loss
    }

    package var path: String { directory + "/" + name }
    private var copyPath: String { "\(directory)/\(StateFiles.copies)/\(name)" }

    /// What was found, and the damage in words.
    package enum Reading<Value> {
        case absent
        case found(Value, damage: String?)
        /// Neither the file nor its copy can be read.
        case lost(damage: String)
    }

    private enum Look<Value> {
        case missing
        case good(Value, bytes: [UInt8])
        /// Its contents are damaged.
        case bad(String)
        /// Its contents are unknown: it may not be read, or the disk fails. It stays where it is.
        case unreadable(FileSystemError)
    }

    /// Reads the file, or its copy. A damaged one is moved into the folder of damaged files, and replaced by the other
    /// one. One that can't be read stays as it is, because its contents may be good.
    ///
    /// - Parameter parse: makes the value of the contents, or throws what is wrong with them.
    /// - Throws: `conflict` if a newer version wrote the file; `system` if one of the two can't be read and the other one
    ///   isn't good, or if both are damaged and can't be moved. Everything is then left as it is.
    package func read<Value>(_ parse: (Contents) throws(RingwakeError) -> Value) throws(RingwakeError) -> Reading<Value>
    {
        let looks = (file: try look(at: path, parse), copy: try look(at: copyPath, parse))
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
        case (.unreadable(let error), _), (_, .unreadable(let error)):
            throw RingwakeError(
                .system,
                "\(error.description), and without it \(loss); give it to the user that ringwaked runs as, with mode "
                    + "0600, or look into the kernel's log.")
        case (.missing, .missing): return .absent
        case (.bad(let why), _), (.missing, .bad(let why)):
            let damage = "\(path) is lost: it and its second copy are damaged (\(why))"
            // One of them may be missing.
            try setAside([path, copyPath], damage)
            return .lost(damage: damage)
        }
    }

    /// Replaces the file and its copy.
    ///
    /// - Throws: `system`; the old file stays then.
    package func write(_ contents: Contents) throws(RingwakeError) {
        var checked = contents
        checked.check = try digest(of: contents)
        let bytes = try encode(checked)
        try replace(copyPath, with: bytes)
        try replace(path, with: bytes)
    }

    /// Removes the file and its copy.
    package func remove() throws(FileSystemError) {
        for path in [copyPath, path] where FileSystem.exists(path) { try FileSystem.remove(path) }
    }

    private func look<Value>(
        at path: String, _ parse: (Contents) throws(RingwakeError) -> Value
    ) throws(RingwakeError) -> Look<Value> {
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
        do {
            let data = Data(bytes)
            let version = try JSONDecoder().decode(StateFiles.Version.self, from: data).schema
            guard version <= StateFiles.schema else {
                throw RingwakeError(
                    .conflict,
                    "'\(path)' was written by a newer version (schema \(version), this one reads up to "
                        + "\(StateFiles.schema)); start that version again.")
            }
            let contents = try JSONDecoder().decode(Contents.self, from: data)
            guard try contents.check == nil || contents.check == digest(of: contents) else {
                return .bad("its contents and their checksum do not fit")
            }
            return .good(try parse(contents), bytes: bytes)
        } catch let error as RingwakeError where error.code == .conflict {
            throw error
        } catch let error as RingwakeError {
            return .bad(error.message)
        } catch {
            return .bad(StateFiles.description(of: error))
        }
    }

    private func digest(of contents: Contents) throws(RingwakeError) -> String {
        var bare = contents
        bare.check = nil
        return encodeHex(SHA256.digest(try encode(bare)))
    }

    private func encode(_ contents: Contents) throws(RingwakeError) -> [UInt8] {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            return Array(try encoder.encode(contents))
        } catch {
            throw RingwakeError(.failed, "'\(path)' cannot be encoded: \(error); report this as a bug.")
        }
    }

    private func replace(_ path: String, with bytes: [UInt8]) throws(RingwakeError) {
        do throws(FileSystemError) {
            try FileSystem.replace(path, with: bytes, mode: StateFiles.mode)
        } catch {
            throw RingwakeError(
                .system,
                "'\(path)' cannot be written: \(error.reason); check the folder's owner and the space on its disk.")
        }
    }

    /// Writes one of the two as the other is. Reading goes on without: a disk may be full.
    ///
    /// - Returns: why it couldn't be written.
    private func repair(_ path: String, with bytes: [UInt8]) -> String? {
        do throws(RingwakeError) {
            try replace(path, with: bytes)
            return nil
        } catch {
            return error.message
        }
    }

    /// Sets one of the two aside, and writes it as the other is. If it can't be set aside it stays, and reading goes on
    /// without.
    ///
    /// - Parameter damage: what was found.
    /// - Returns: what to report.
    private func replace(damaged path: String, with bytes: [UInt8], _ damage: String) -> String {
        do throws(RingwakeError) {
            try setAside([path], damage)
            return repair(path, with: bytes) ?? damage
        } catch {
            return error.message
        }
    }

    /// Moves what is damaged into the folder of damaged files.
    private func setAside(_ paths: [String], _ why: String) throws(RingwakeError) {
        do throws(FileSystemError) {
            try DamageFolder(stateDirectory: directory).add(paths, why: why)
        } catch {
            throw RingwakeError(.system, "\(why), and cannot be set aside: \(error.description); move it away.")
        }
    }
}

/// What all state files have in common.
nonisolated enum StateFiles {
    /// The version that is written, and the newest that is read.
    static let schema = 1
    /// The folder of second copies, in the state directory.
    static let copies = "copies"
    static let mode: UInt32 = 0o600

    struct Version: Decodable {
        let schema: Int
    }

    static func description(of error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        switch error {
        case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context):
            return context.debugDescription
        case .keyNotFound(let key, _):
            return "'\(key.stringValue)' is missing"
        @unknown default:
            return "\(error)"
        }
    }
}

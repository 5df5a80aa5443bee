import Cryptography
package import FileSystem
import FoundationEssentials
package import RingwakeCore

/// What a state file holds.
package nonisolated protocol StateContents: Codable {
    /// SHA-256 of the file without this member, in hex; nil in files of former versions. Damage can leave valid JSON:
    /// one other digit, and a token is another.
    var check: String? { get set }
}

/// A JSON state file of the gateway with its second copy (``DoubleFile``).
package nonisolated struct StateFile<Contents: StateContents> {
    private let files: DoubleFile
    /// What would follow if the file weren't there, for a person: "without it ...".
    private let loss: String

    /// - Parameters:
    ///   - name: in the state directory: `tokens.json`.
    ///   - directory: the state directory.
    ///   - maximumSize: of the file, in bytes.
    package init(name: String, directory: String, maximumSize: Int, loss: String) {
        files = DoubleFile(name: name, directory: directory, maximumSize: maximumSize)
        self.loss = loss
    }

    package var path: String { files.path }

    /// What was found, and the damage in words.
    package enum Reading<Value> {
        case absent
        case found(Value, damage: String?)
        /// Neither the file nor its copy can be read.
        case lost(damage: String)
    }

    /// Reads the file, or its copy; see ``DoubleFile/read(_:)``. If both are damaged, they are moved into the folder of
    /// damaged files.
    ///
    /// - Parameter parse: makes the value of the contents, or throws what is wrong with them.
    /// - Throws: `conflict` if a newer version wrote the file; `system` if one of the two can't be read and the other one
    ///   isn't good, or if both are damaged and can't be moved. Everything is then left as it is.
    package func read<Value>(_ parse: (Contents) throws(RingwakeError) -> Value) throws(RingwakeError) -> Reading<Value>
    {
        switch files.read({ (bytes) throws(DoubleFile.Fault) in try value(of: bytes, parse) }) {
        case .absent: return .absent
        case .found(let value, let damage): return .found(value, damage: damage)
        case .refused(let why): throw RingwakeError(.conflict, why)
        case .unreadable(let error):
            throw RingwakeError(
                .system,
                "\(error.description), and without it \(loss); give it to the user that ringwaked runs as, with mode "
                    + "0600, or look into the kernel's log.")
        case .lost(let why):
            let damage = "\(path) is lost: it and its second copy are damaged (\(why))"
            do throws(FileSystemError) {
                try files.setAside(damage)
            } catch {
                throw RingwakeError(
                    .system, "\(damage), and cannot be set aside: \(error.description); move it away.")
            }
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
        do throws(FileSystemError) {
            try files.write(bytes)
        } catch {
            throw RingwakeError(
                .system,
                "'\(error.path)' cannot be written: \(error.reason); check the folder's owner and the space on its disk."
            )
        }
    }

    /// Removes the file and its copy.
    package func remove() throws(FileSystemError) {
        try files.remove()
    }

    private func value<Value>(
        of bytes: [UInt8], _ parse: (Contents) throws(RingwakeError) -> Value
    ) throws(DoubleFile.Fault) -> Value {
        do {
            let data = Data(bytes)
            let version = try JSONDecoder().decode(StateFiles.Version.self, from: data).schema
            guard version <= StateFiles.schema else {
                throw DoubleFile.Fault.refused(
                    "'\(path)' was written by a newer version (schema \(version), this one reads up to "
                        + "\(StateFiles.schema)); start that version again.")
            }
            let contents = try JSONDecoder().decode(Contents.self, from: data)
            guard try contents.check == nil || contents.check == digest(of: contents) else {
                throw DoubleFile.Fault.damaged("its contents and their checksum do not fit")
            }
            return try parse(contents)
        } catch let fault as DoubleFile.Fault {
            throw fault
        } catch let error as RingwakeError {
            throw error.code == .conflict ? .refused(error.message) : .damaged(error.message)
        } catch {
            throw .damaged(StateFiles.description(of: error))
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
}

/// What all state files have in common.
nonisolated enum StateFiles {
    /// The version that is written, and the newest that is read.
    static let schema = 1

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

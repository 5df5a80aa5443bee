import FileSystem
import FoundationEssentials
import Glibc
import RingwakeCore

/// A JSON state file of the gateway, with its format version as `schema`. It is replaced atomically.
nonisolated enum StateFile {
    /// The version that is written, and the newest that is read.
    static let schema = 1

    private struct Version: Decodable {
        let schema: Int
    }

    /// The contents of the file; nil if it doesn't exist.
    ///
    /// - Parameter remedy: what to do about a file that can't be decoded, as the end of a sentence.
    /// - Throws: `system` if it can't be read or decoded; `conflict` if a newer version wrote it. The file isn't
    ///   changed.
    static func read<Contents: Decodable>(
        _ path: String, as type: Contents.Type, maximumSize: Int, remedy: String
    ) throws(RingwakeError) -> Contents? {
        let bytes: [UInt8]
        do {
            bytes = try FileSystem.read(path, maximumSize: maximumSize)
        } catch {
            if error.errno == ENOENT { return nil }
            throw RingwakeError(
                .system, "'\(path)' cannot be read: \(error.reason); check its owner and permissions, or \(remedy).")
        }
        let data = Data(bytes)
        do {
            let version = try JSONDecoder().decode(Version.self, from: data)
            guard version.schema <= schema else {
                throw RingwakeError(
                    .conflict,
                    "'\(path)' was written by a newer version (schema \(version.schema), this one reads up to "
                        + "\(schema)); start that version again.")
            }
            return try JSONDecoder().decode(type, from: data)
        } catch let error as RingwakeError {
            throw error
        } catch {
            throw unreadable(path, "\(description(of: error))", remedy: remedy)
        }
    }

    /// The error for a file with invalid contents.
    static func unreadable(_ path: String, _ defect: String, remedy: String) -> RingwakeError {
        RingwakeError(.system, "'\(path)' is damaged: \(defect); put a copy of it back, or \(remedy).")
    }

    /// Replaces the file.
    ///
    /// - Throws: `system`; the old file stays then.
    static func write(_ contents: some Encodable, to path: String, mode: UInt32) throws(RingwakeError) {
        let data: Data
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            data = try encoder.encode(contents)
        } catch {
            throw RingwakeError(.failed, "'\(path)' cannot be encoded: \(error); report this as a bug.")
        }
        do {
            try FileSystem.replace(path, with: Array(data), mode: mode)
        } catch {
            throw RingwakeError(
                .system,
                "'\(path)' cannot be written: \(error.reason); check the folder's owner and the space on its disk.")
        }
    }

    private static func description(of error: any Error) -> String {
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

internal import FileSystem
internal import FoundationEssentials
internal import Glibc
internal import RingwakeCore

/// The effect journal on the disk: two lines, a heading and the ledger as JSON. The heading has the version, the length
/// and a checksum of the second line, which show a file that was cut off or torn.
enum EffectJournalFile {
    /// The version that this program writes and reads.
    static let version = 1
    /// More than any number of streams needs; a longer file is no journal.
    private static let maximumBytes = 8 << 20
    /// Maximum damaged files to keep.
    static let maximumAside = 10

    enum Contents {
        case ledger(EffectLedger)
        case damaged(String)
    }

    /// - Throws: another program holds the journal, or its folder cannot be used.
    static func lock(_ path: String) throws(EffectJournalError) -> FileLock {
        do throws(FileSystemError) {
            if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
                try FileSystem.createDirectory(String(path[..<slash]), mode: 0o700)
            }
            return try FileLock(path: path + ".lock")
        } catch {
            throw error.errno == EWOULDBLOCK
                ? EffectJournalError(.inUse, "another program holds the audio effects of \(path): end it first")
                : EffectJournalError(.unusable, error.description)
        }
    }

    /// - Throws: the file cannot be read, or a newer version of this program wrote it.
    static func contents(of path: String) throws(EffectJournalError) -> Contents {
        let bytes: [UInt8]
        do throws(FileSystemError) {
            bytes = try FileSystem.read(path, maximumSize: maximumBytes)
        } catch {
            // A directory, a pipe or a huge file is not our journal. A file that we may not read may be one.
            if [EISDIR, EINVAL, EFBIG].contains(error.errno) { return .damaged(error.reason) }
            throw EffectJournalError(.unusable, error.description)
        }
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let heading = try? JSONDecoder().decode(AudioJournalHeading.self, from: Data(bytes[..<end])),
            heading.format == AudioJournalHeading.knownFormat
        else { return .damaged("it does not begin as a journal does") }
        guard heading.version <= version else {
            throw EffectJournalError(
                .newer,
                "\(path) is of version \(heading.version), and this program knows \(version): start the newer one, "
                    + "or remove the file, and see to volumes and mutes by hand")
        }
        var body = bytes[(end + 1)...]
        if body.last == UInt8(ascii: "\n") { body.removeLast() }
        guard body.count == heading.bytes, checksum(body) == heading.checksum else {
            return .damaged("it is cut off or torn")
        }
        do {
            return .ledger(try JSONDecoder().decode(EffectLedger.self, from: Data(body)))
        } catch {
            return .damaged("it says something else than effects")
        }
    }

    static func bytes(of ledger: EffectLedger) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            let body = [UInt8](try encoder.encode(ledger))
            let heading = AudioJournalHeading(
                version: version, bytes: body.count, checksum: checksum(body), effects: ledger.count)
            let end = [UInt8(ascii: "\n")]
            return [UInt8](try encoder.encode(heading)) + end + body + end
        } catch {
            // Strings, integers and Booleans always encode.
            preconditionFailure("a journal that does not encode: \(error)")
        }
    }

    /// Renames a damaged file to a free name, or else over an older damaged file.
    /// - Returns: What happened, for a person.
    static func setAside(_ path: String, _ why: String) throws(EffectJournalError) -> String {
        let names = (0..<maximumAside).map { path + ".damaged" + ($0 == 0 ? "" : ".\($0)") }
        let free = names.filter { !FileSystem.exists($0) }
        guard let aside = (free + names).first(where: { rename(path, $0) == 0 }) else {
            throw EffectJournalError(
                .unusable, "\(path) cannot be read: \(why); nor moved away: \(String(cString: strerror(errno)))")
        }
        return "\(path) cannot be read: \(why). It is \(aside) now; effects that it held are not undone"
    }

    /// FNV-1a, 64 bits, in hexadecimal: against accidents, not against attackers.
    static func checksum(_ bytes: some Sequence<UInt8>) -> String {
        let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        return String(hash, radix: 16)
    }
}

/// Why the journal cannot be used.
package struct EffectJournalError: Error, Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, Hashable, Sendable {
        /// Another program has it.
        case inUse
        /// A newer version of this program wrote it.
        case newer
        /// The file system refuses.
        case unusable
    }

    let kind: Kind
    /// What happened and what to do, for a person.
    package let description: String

    init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }

    /// Another program has the journal, until it ends.
    package var isInUse: Bool { kind == .inUse }
}

internal import FileSystem
internal import FoundationEssentials
internal import Glibc

extension EffectJournal {
    enum Contents {
        case ledger(EffectLedger)
        case damaged(String)
    }

    private struct Heading: Codable {
        static let format = "ringwake audio effects"

        var format = Heading.format
        var version: Int
        /// Of the second line, without its end.
        var bytes: Int
        /// FNV-1a of these bytes, 64 bits: it is against torn writes, not against anybody.
        var checksum: String
    }

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

    static func contents(of path: String) throws(EffectJournalError) -> Contents {
        let bytes: [UInt8]
        do throws(FileSystemError) {
            bytes = try FileSystem.read(path, maximumSize: maximumBytes)
        } catch {
            // A directory, a pipe, a monster: no journal of ours. What we may not read may well be one.
            if [EISDIR, EINVAL, EFBIG].contains(error.errno) { return .damaged(error.reason) }
            throw EffectJournalError(.unusable, error.description)
        }
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let heading = try? JSONDecoder().decode(Heading.self, from: Data(bytes[..<end])),
            heading.format == Heading.format
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
            let heading = Heading(version: version, bytes: body.count, checksum: checksum(body[...]))
            let end = [UInt8(ascii: "\n")]
            return [UInt8](try encoder.encode(heading)) + end + body + end
        } catch {
            // Texts, whole numbers and Booleans always encode.
            preconditionFailure("a journal that does not encode: \(error)")
        }
    }

    /// So many damaged files are kept.
    static let maximumAside = 10

    /// Renames what cannot be read to a name that is free; where none is, it takes another one's place.
    static func setAside(_ path: String, _ why: String) throws(EffectJournalError) -> String {
        let names = (0..<maximumAside).map { path + ".damaged" + ($0 == 0 ? "" : ".\($0)") }
        let free = names.filter { !FileSystem.exists($0) }
        guard let aside = (free + names).first(where: { rename(path, $0) == 0 }) else {
            throw EffectJournalError(
                .unusable, "\(path) cannot be read: \(why); nor moved away: \(String(cString: strerror(errno)))")
        }
        return "\(path) cannot be read: \(why). It is \(aside) now; effects that it held are not undone"
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> String {
        String(JournalChecksum.of(bytes), radix: 16)
    }
}

/// FNV-1a, 64 bits: against accidents, not against anybody.
enum JournalChecksum {
    static func of(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes {
            hash ^= UInt64(byte)
            hash = hash &* 0x0000_0100_0000_01b3
        }
        return hash
    }
}

package import RingwakeCore

/// The lists of callers as one file, for look-ups on the run loop: a few reads of 4 KiB each, whatever its size.
///
/// In memory it holds 8 bytes for every 255 entries. The file is replaced, never changed: an open index goes on with
/// the file that it has.
package final class CallerIndex: Sendable {
    let file: IndexFile
    let header: IndexHeader
    let directory: IndexDirectory

    private init(file: IndexFile, header: IndexHeader, directory: IndexDirectory) {
        self.file = file
        self.header = header
        self.directory = directory
    }

    /// Opens an index that ``CallerIndexBuilder`` wrote.
    /// - Throws: `notFound` when there is none, `failed` when it is damaged or of another version, `system` when it
    ///   cannot be read. After each of them it is to be built again.
    package static func open(_ path: String) throws(RingwakeError) -> CallerIndex {
        let file = try IndexFile.reading(path)
        let size = try file.size()
        let first = try bytes(min(size, IndexHeader.bytes), of: file, at: 0)
        let read = first.withUnsafeBytes { bytes in
            Result { () throws(RingwakeError) in try IndexHeader(bytes, fileBytes: size, path: path) }
        }
        let header = try read.get()
        let stored = try bytes(header.directoryBytes, of: file, at: header.directoryStart)
        guard stored.withUnsafeBytes({ IndexFormat.checksum($0, seed: header.seed) }) == header.directoryChecksum,
            let directory = IndexDirectory(stored, header: header)
        else { throw damaged(path, "has a damaged directory") }
        return CallerIndex(file: file, header: header, directory: directory)
    }

    /// The number that it was built with.
    package var generation: UInt64 { header.generation }
    /// How many entries it has.
    package var entryCount: Int { header.numbers + header.addresses }
    /// The names of its lists.
    package var lists: [String] { directory.lists.map(\.name) }

    /// Whether it was built with these rules; under others national numbers are not found.
    package func isBuilt(with rules: DiallingRules) -> Bool { header.rules == rules.fingerprint }

    /// What the lists say of a caller; nil when they do not know it.
    /// - Throws: `failed` when the file is damaged, `system` when it cannot be read. The call is then to be taken for
    ///   one of an unknown caller, and the index to be built again.
    package func lookup(_ caller: CallerHandle) throws(RingwakeError) -> ListVerdict? {
        guard entryCount > 0 else { return nil }
        var search = IndexSearch(self)
        return try search.verdict(on: caller)
    }

    static func damaged(_ path: String, _ what: String) -> RingwakeError {
        RingwakeError(.failed, "the caller index \(path) \(what): have it built again")
    }

    static func bytes(_ count: Int, of file: IndexFile, at offset: Int) throws(RingwakeError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(RingwakeError) in try file.read(into: buffer, at: offset) }
        }
        guard try result.get() else { throw damaged(file.path, "is shorter than it was") }
        return bytes
    }
}

internal import RingwakeCore

/// The first block of the index.
struct IndexHeader: Equatable {
    /// Which state of the lists it was built from: the caller's own number.
    var generation: UInt64
    /// Of the rules that national numbers were read by.
    var rules: UInt64
    /// Begins the hashes and checksums of this file.
    var seed: UInt64
    var stringBytes = 0
    var numbers = 0
    var addresses = 0
    /// A bit for each length of prefix that is there (``NumberKey/lengthBit``).
    var prefixLengths: UInt32 = 0
    var lists = 0
    var directoryBytes = 0
    var directoryChecksum: UInt64 = 0

    private static let words = 13
    static let bytes = words * 8

    init(generation: UInt64, rules: UInt64, seed: UInt64) {
        self.generation = generation
        self.rules = rules
        self.seed = seed
    }

    /// - Throws: `failed`, with what is wrong, unless every part lies within a file of `fileBytes` bytes.
    init(_ bytes: UnsafeRawBufferPointer, fileBytes: Int, path: String) throws(RingwakeError) {
        func damaged(_ what: String) -> RingwakeError {
            RingwakeError(.failed, "the caller index \(path) \(what): have it built again")
        }
        func word(_ index: Int) -> UInt64 {
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
        }
        guard bytes.count >= IndexHeader.bytes, word(0) == IndexFormat.magic else {
            throw damaged("is none, for it does not begin as one")
        }
        guard word(1) == IndexFormat.version else { throw damaged("has the unknown version \(word(1))") }
        let checked = UnsafeRawBufferPointer(rebasing: bytes[..<(IndexHeader.bytes - 8)])
        guard word(12) == IndexFormat.checksum(checked, seed: 0) else { throw damaged("has a damaged header") }
        self.init(generation: word(2), rules: word(3), seed: word(4))
        guard let stringBytes = Int(exactly: word(6)), let numbers = Int(exactly: word(7)),
            let addresses = Int(exactly: word(8)), let lists = Int(exactly: word(9) >> 32),
            let directoryBytes = Int(exactly: word(10)),
            stringBytes <= fileBytes, numbers <= IndexFormat.maximumEntries,
            addresses <= IndexFormat.maximumEntries, lists <= IndexFormat.maximumLists,
            directoryBytes <= IndexFormat.maximumDirectoryBytes
        else { throw damaged("has a header with impossible sizes") }
        (self.stringBytes, self.numbers, self.addresses) = (stringBytes, numbers, addresses)
        (self.lists, self.directoryBytes) = (lists, directoryBytes)
        prefixLengths = UInt32(truncatingIfNeeded: word(9))
        directoryChecksum = word(11)
        guard word(5) == UInt64(fileBytes), self.fileBytes == fileBytes else {
            throw damaged("has \(fileBytes) bytes and should have \(word(5))")
        }
    }

    var stringsStart: Int { IndexFormat.blockBytes }
    var numbersStart: Int {
        let end = stringsStart + stringBytes
        return (end + IndexFormat.blockBytes - 1) / IndexFormat.blockBytes * IndexFormat.blockBytes
    }
    var addressesStart: Int { numbersStart + IndexFormat.blocks(of: numbers) * IndexFormat.blockBytes }
    var directoryStart: Int { addressesStart + IndexFormat.blocks(of: addresses) * IndexFormat.blockBytes }
    var fileBytes: Int { directoryStart + directoryBytes }

    /// The block as it is written.
    func encoded() -> [UInt8] {
        var words: [UInt64] = [
            IndexFormat.magic, IndexFormat.version, generation, rules, seed, UInt64(fileBytes), UInt64(stringBytes),
            UInt64(numbers), UInt64(addresses), UInt64(lists) << 32 | UInt64(prefixLengths), UInt64(directoryBytes),
            directoryChecksum,
        ].map(\.littleEndian)
        words.append(words.withUnsafeBytes { IndexFormat.checksum($0, seed: 0) }.littleEndian)
        var block = words.withUnsafeBytes { Array($0) }
        block += [UInt8](repeating: 0, count: IndexFormat.blockBytes - block.count)
        return block
    }
}

extension DiallingRules {
    /// Tells one set of rules from another.
    package var fingerprint: UInt64 {
        IndexFormat.hash("\(countryCode ?? "-")/\(trunkPrefix ?? "-")/\(internationalPrefix)", seed: 0)
    }
}

internal import RingwakeCore

// The index, all numbers little-endian:
//
//     block 0    header
//     strings    what is said of callers, and the addresses themselves; up to the next whole block
//     numbers    blocks of records, in order of their keys
//     addresses  the same
//     directory  lists; then the first key of each block of numbers, and of addresses
//
// A look-up reads one block for each length of prefix that there is, and a string when it found something: a thousand
// times larger an index costs a look-up nothing more. Nothing of it is mapped: a disk that fails to read gives an error
// then, where a mapping would end the process with SIGBUS.
enum IndexFormat {
    static let magic: UInt64 = 0x5352_4C4C_4143_5752  // "RWCALLRS"
    static let version: UInt64 = 1
    static let blockBytes = 4_096
    static let recordBytes = 16
    /// Records of a block; its last 16 bytes are the checksum of them, and zeros.
    static let recordsPerBlock = blockBytes / recordBytes - 1
    /// The most lists of one index.
    static let maximumLists = 256
    /// The most bytes of a list's name.
    static let maximumNameBytes = 64
    /// The most entries of all lists.
    static let maximumEntries = 20_000_000
    /// The most bytes of the directory: of those lists, and those entries.
    static let maximumDirectoryBytes =
        maximumLists * (3 + maximumNameBytes) + (maximumEntries / recordsPerBlock + 2) * 8
    /// The most bytes of a string: a host of 256, after `*@`.
    static let maximumTextBytes = 258
    /// Entries that one look-up compares at most where their hashes are equal.
    static let maximumEqualHashes = 1_024

    static func blocks(of records: Int) -> Int { (records + recordsPerBlock - 1) / recordsPerBlock }

    /// A checksum that finds damage; it is no protection against somebody who writes the file.
    static func checksum(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        // Four sums, which a processor works on at once.
        var sums = SIMD4<UInt64>(seed, ~seed, seed &+ 1, UInt64(bytes.count))
        var offset = 0
        while offset + 32 <= bytes.count {
            var words = SIMD4<UInt64>()
            for lane in 0..<4 {
                let word = bytes.loadUnaligned(fromByteOffset: offset + lane * 8, as: UInt64.self)
                words[lane] = UInt64(littleEndian: word)
            }
            sums = (sums ^ words) &* SIMD4(repeating: 0x9E37_79B9_7F4A_7C15)
            sums ^= sums &>> SIMD4(repeating: 29)
            offset += 32
        }
        var sum = mix(mix(mix(sums[0]) ^ sums[1]) ^ sums[2]) ^ sums[3]
        for byte in bytes[offset...] { sum = (sum ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return mix(sum)
    }

    /// FNV-1a, begun at a seed of the file, so that nobody can choose addresses that come together.
    static func hash(_ text: String, seed: UInt64) -> UInt64 {
        var hash = 0xCBF2_9CE4_8422_2325 ^ mix(seed)
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return mix(hash)
    }

    // The finalizer of MurmurHash3: every bit of the value changes half of the result's.
    private static func mix(_ value: UInt64) -> UInt64 {
        var value = value
        value = (value ^ value >> 33) &* 0xFF51_AFD7_ED55_8CCD
        value = (value ^ value >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return value ^ value >> 33
    }
}

/// One entry of the index: what it is found by, and where its strings are.
struct IndexRecord: Comparable {
    var key: UInt64
    /// The list, and the place of the strings behind it; 0 for none.
    var value: UInt64

    private static let offsetBits: UInt64 = 48

    init(key: UInt64, value: UInt64) {
        self.key = key
        self.value = value
    }

    init(key: UInt64, list: Int, offset: Int) {
        self.key = key
        value = UInt64(list) << IndexRecord.offsetBits | UInt64(offset)
    }

    var list: Int { Int(value >> IndexRecord.offsetBits) }
    var offset: Int { Int(truncatingIfNeeded: value & (1 << IndexRecord.offsetBits - 1)) }

    static func < (left: IndexRecord, right: IndexRecord) -> Bool {
        left.key == right.key ? left.value < right.value : left.key < right.key
    }
}

/// A number or the beginning of one, packed so that equal ones are equal, and all of one length lie together.
struct NumberKey {
    private(set) var isInternational: Bool
    /// How many digits, 1 to 15.
    private(set) var length: Int
    private(set) var digits: UInt64

    /// The first 15 digits of `+4989123456` or `089123456`; nil when there are none, or other characters.
    init?(_ text: String) {
        var bytes = text.utf8[...]
        isInternational = bytes.first == UInt8(ascii: "+")
        if isInternational { bytes = bytes.dropFirst() }
        (length, digits) = (0, 0)
        for byte in bytes {
            guard let digit = UInt64(exactly: Int(byte) - 0x30), digit < 10 else { return nil }
            guard length < CallerPattern.maximumDigits else { break }
            digits = digits * 10 + digit
            length += 1
        }
        guard length > 0 else { return nil }
    }

    /// Whether all digits of the number have a place in a key.
    static func fits(_ text: String) -> Bool {
        let digits = text.utf8.count - (text.utf8.first == UInt8(ascii: "+") ? 1 : 0)
        return digits <= CallerPattern.maximumDigits
    }

    /// The same number without its last digit; nil when none would be left.
    var shorter: NumberKey? {
        guard length > 1 else { return nil }
        var key = self
        key.length -= 1
        key.digits /= 10
        return key
    }

    /// The bit of the lengths that prefixes have, in the header.
    var lengthBit: UInt32 { 1 << UInt32(length + (isInternational ? 16 : 0)) }

    // Fifteen digits have 50 bits.
    func packed(isPrefix: Bool, kind: CallerListKind) -> UInt64 {
        let marks: UInt64 = (isInternational ? 2 : 0) | (isPrefix ? 1 : 0)
        return marks << 56 | UInt64(length) << 52 | digits << 1 | kind.bit
    }
}

extension CallerListKind {
    /// The lowest bit of a key.
    var bit: UInt64 { self == .block ? 0 : 1 }
}

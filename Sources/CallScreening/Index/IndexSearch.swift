internal import RingwakeCore

/// One look-up: finds the closest entry of each kind of list.
struct IndexSearch {
    private let index: CallerIndex
    private var numbers: BlockReader
    private var addresses: BlockReader
    private var blocked: ListMatch?
    private var identified: ListMatch?

    init(_ index: CallerIndex) {
        let (header, directory) = (index.header, index.directory)
        self.index = index
        numbers = BlockReader(
            file: index.file, start: header.numbersStart, count: header.numbers, seed: header.seed,
            firstKeys: directory.firstNumbers)
        addresses = BlockReader(
            file: index.file, start: header.addressesStart, count: header.addresses, seed: ~header.seed,
            firstKeys: directory.firstAddresses)
    }

    mutating func verdict(on caller: CallerHandle) throws(RingwakeError) -> ListVerdict? {
        if caller.kind == .number, let key = NumberKey(caller.text) {
            if NumberKey.fits(caller.text) {
                try findNumber(key, isPrefix: false, pattern: caller.text)
            } else {
                try findAddress(caller.text)
            }
            try findPrefixes(of: key, in: caller.text)
        } else {
            try findAddress(caller.text)
        }
        if let domain = caller.domain { try findAddress("*@\(domain)") }
        return ListVerdict(blocked: blocked, identified: identified)
    }

    private var isDone: Bool { blocked != nil && identified != nil }

    private mutating func findPrefixes(of number: NumberKey, in text: String) throws(RingwakeError) {
        var next: NumberKey? = number
        while let key = next, !isDone {
            if index.header.prefixLengths & key.lengthBit != 0 {
                let written = text.utf8.prefix(key.length + (key.isInternational ? 1 : 0))
                try findNumber(key, isPrefix: true, pattern: "\(Substring(written))*")
            }
            next = key.shorter
        }
    }

    private mutating func findNumber(_ key: NumberKey, isPrefix: Bool, pattern: String) throws(RingwakeError) {
        let wanted = key.packed(isPrefix: isPrefix, kind: .block)
        var position = try numbers.firstPosition(notBelow: wanted)
        // At most one entry for each kind of list has the key.
        while position < numbers.count {
            let record = try numbers.record(at: position)
            guard record.key | 1 == wanted | 1 else { return }
            if needs(record) {
                let label = record.offset == 0 ? nil : try string(at: record.offset).text
                try take(record, pattern: pattern, label: label)
            }
            position += 1
        }
    }

    private mutating func findAddress(_ text: String) throws(RingwakeError) {
        guard addresses.count > 0, !isDone else { return }
        let wanted = IndexFormat.hash(text, seed: index.header.seed) & ~1
        let first = try addresses.firstPosition(notBelow: wanted)
        for position in first..<min(addresses.count, first + IndexFormat.maximumEqualHashes) {
            let record = try addresses.record(at: position)
            guard record.key | 1 == wanted | 1 else { return }
            guard needs(record) else { continue }
            // Another text may have the same hash.
            let stored = try string(at: record.offset)
            guard stored.text == text else { continue }
            let label = try string(at: stored.end).text
            try take(record, pattern: text, label: label.isEmpty ? nil : label)
        }
    }

    /// Whether nothing closer was found yet for this kind of list.
    private func needs(_ record: IndexRecord) -> Bool {
        record.key & 1 == CallerListKind.block.bit ? blocked == nil : identified == nil
    }

    private mutating func take(_ record: IndexRecord, pattern: String, label: String?) throws(RingwakeError) {
        guard record.list < index.directory.lists.count else {
            throw CallerIndex.damaged(index.file.path, "names a list that it does not have")
        }
        let list = index.directory.lists[record.list]
        let match = ListMatch(list: list.name, pattern: try CallerPattern(pattern), label: label)
        if record.key & 1 == CallerListKind.block.bit { blocked = match } else { identified = match }
    }

    private func string(at offset: Int) throws(RingwakeError) -> (text: String, end: Int) {
        let (start, end) = (index.header.stringsStart, index.header.stringsStart + index.header.stringBytes)
        guard offset >= start, offset <= end - 2 else {
            throw CallerIndex.damaged(index.file.path, "names a text that it does not have")
        }
        let bytes = try CallerIndex.bytes(
            min(IndexFormat.maximumTextBytes + 2, end - offset), of: index.file, at: offset)
        let length = Int(bytes[0]) | Int(bytes[1]) << 8
        guard length <= bytes.count - 2 else {
            throw CallerIndex.damaged(index.file.path, "names a text that it does not have")
        }
        return (String(decoding: bytes[2..<(length + 2)], as: UTF8.self), offset + 2 + length)
    }
}

/// Reads the records of one section, and keeps the block that it read last.
struct BlockReader {
    let file: IndexFile
    let start: Int
    let count: Int
    let seed: UInt64
    let firstKeys: [UInt64]
    private var block: [UInt64] = []
    private var blockNumber = -1

    init(file: IndexFile, start: Int, count: Int, seed: UInt64, firstKeys: [UInt64]) {
        self.file = file
        self.start = start
        self.count = count
        self.seed = seed
        self.firstKeys = firstKeys
    }

    /// The first record whose key is `key` or more; ``count`` when there is none.
    mutating func firstPosition(notBelow key: UInt64) throws(RingwakeError) -> Int {
        // The last block that begins below the key may hold it; all before that are below.
        let next = BlockReader.partition(0..<firstKeys.count) { firstKeys[$0] >= key }
        guard next > 0 else { return 0 }
        try load(next - 1)
        let first = (next - 1) * IndexFormat.recordsPerBlock
        let inBlock = min(count - first, IndexFormat.recordsPerBlock)
        return first + BlockReader.partition(0..<inBlock) { UInt64(littleEndian: block[$0 * 2]) >= key }
    }

    mutating func record(at position: Int) throws(RingwakeError) -> IndexRecord {
        try load(position / IndexFormat.recordsPerBlock)
        let place = position % IndexFormat.recordsPerBlock * 2
        return IndexRecord(key: UInt64(littleEndian: block[place]), value: UInt64(littleEndian: block[place + 1]))
    }

    private mutating func load(_ number: Int) throws(RingwakeError) {
        guard number != blockNumber else { return }
        if block.isEmpty { block = [UInt64](repeating: 0, count: IndexFormat.blockBytes / 8) }
        blockNumber = -1
        let (file, offset, seed) = (file, start + number * IndexFormat.blockBytes, seed ^ UInt64(number))
        let result = block.withUnsafeMutableBytes { buffer in
            Result { () throws(RingwakeError) -> Bool in
                guard try file.read(into: buffer, at: offset) else { return false }
                let records = UnsafeRawBufferPointer(buffer)[..<(IndexFormat.recordsPerBlock * 16)]
                let stored = buffer.load(fromByteOffset: records.count, as: UInt64.self)
                let sum = IndexFormat.checksum(UnsafeRawBufferPointer(rebasing: records), seed: seed)
                return UInt64(littleEndian: stored) == sum
            }
        }
        guard try result.get() else { throw CallerIndex.damaged(file.path, "is damaged") }
        blockNumber = number
    }

    /// The first place from which on `isAtOrAfter` holds; the end when it never does.
    private static func partition(_ range: Range<Int>, _ isAtOrAfter: (Int) -> Bool) -> Int {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if isAtOrAfter(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

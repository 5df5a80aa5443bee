internal import RingwakeCore

/// Writes bytes one after another into a file, in large pieces.
struct SequentialWriter {
    private let file: IndexFile
    private var waiting: [UInt8] = []
    private var written: Int
    private static let pieceBytes = 262_144

    init(_ file: IndexFile, at offset: Int) {
        self.file = file
        written = offset
        waiting.reserveCapacity(SequentialWriter.pieceBytes)
    }

    /// Where the next byte goes.
    var position: Int { written + waiting.count }

    mutating func append(_ bytes: some Sequence<UInt8>) throws(RingwakeError) {
        waiting.append(contentsOf: bytes)
        if waiting.count >= SequentialWriter.pieceBytes { try flush() }
    }

    mutating func append(littleEndian number: some FixedWidthInteger) throws(RingwakeError) {
        withUnsafeBytes(of: number.littleEndian) { waiting.append(contentsOf: $0) }
        if waiting.count >= SequentialWriter.pieceBytes { try flush() }
    }

    /// Fills up to the next multiple of `size` with zeros.
    mutating func align(to size: Int) throws(RingwakeError) {
        let rest = position % size
        if rest > 0 { try append(repeatElement(0, count: size - rest)) }
    }

    mutating func flush() throws(RingwakeError) {
        let (file, offset) = (file, written)
        let result = waiting.withUnsafeBytes { bytes in
            Result { () throws(RingwakeError) in try file.write(bytes, at: offset) }
        }
        try result.get()
        written += waiting.count
        waiting.removeAll(keepingCapacity: true)
    }
}

/// Writes records in order as blocks with checksums, and keeps the first key of each.
struct BlockWriter {
    private var block: [UInt64] = []
    private let seed: UInt64
    private(set) var count = 0
    private(set) var firstKeys: [UInt64] = []

    init(seed: UInt64) {
        self.seed = seed
        block.reserveCapacity(IndexFormat.blockBytes / 8)
    }

    mutating func append(_ record: IndexRecord, to writer: inout SequentialWriter) throws(RingwakeError) {
        if block.isEmpty { firstKeys.append(record.key) }
        block.append(record.key.littleEndian)
        block.append(record.value.littleEndian)
        count += 1
        if block.count == IndexFormat.recordsPerBlock * 2 { try finish(&writer) }
    }

    /// Writes the block that is not full.
    mutating func finish(_ writer: inout SequentialWriter) throws(RingwakeError) {
        guard !block.isEmpty else { return }
        let records = IndexFormat.recordsPerBlock * 2
        block += [UInt64](repeating: 0, count: records - block.count)
        let seed = seed ^ UInt64(firstKeys.count - 1)
        block.append(block.withUnsafeBytes { IndexFormat.checksum($0, seed: seed) }.littleEndian)
        block.append(0)
        let bytes = block.withUnsafeBytes { Array($0) }
        block.removeAll(keepingCapacity: true)
        try writer.append(bytes)
    }
}

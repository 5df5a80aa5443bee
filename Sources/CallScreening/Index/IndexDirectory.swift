internal import RingwakeCore

/// The part of the index that stays in memory: the lists, and the first key of each block.
struct IndexDirectory: Equatable, Sendable {
    struct List: Equatable, Sendable {
        let name: String
        let kind: CallerListKind
    }

    let lists: [List]
    let firstNumbers: [UInt64]
    let firstAddresses: [UInt64]

    init(lists: [List], firstNumbers: [UInt64], firstAddresses: [UInt64]) {
        self.lists = lists
        self.firstNumbers = firstNumbers
        self.firstAddresses = firstAddresses
    }

    /// Nil when the bytes are not what the header says.
    init?(_ bytes: [UInt8], header: IndexHeader) {
        var rest = bytes[...]
        var lists: [List] = []
        for _ in 0..<header.lists {
            guard rest.count >= 2, let kind = rest.popFirst(), let length = rest.popFirst(), kind < 2,
                rest.count >= length
            else { return nil }
            let name = String(decoding: rest.prefix(Int(length)), as: UTF8.self)
            lists.append(List(name: name, kind: kind == 0 ? .block : .identify))
            rest = rest.dropFirst(Int(length))
        }
        let (numbers, addresses) = (IndexFormat.blocks(of: header.numbers), IndexFormat.blocks(of: header.addresses))
        guard rest.count == (numbers + addresses) * 8 else { return nil }
        let keys = Array(rest).withUnsafeBytes { buffer in
            (0..<(numbers + addresses)).map {
                UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self))
            }
        }
        self.init(
            lists: lists, firstNumbers: Array(keys.prefix(numbers)), firstAddresses: Array(keys.dropFirst(numbers)))
    }

    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        for list in lists {
            bytes.append(UInt8(list.kind.bit))
            bytes.append(UInt8(truncatingIfNeeded: list.name.utf8.count))
            bytes += list.name.utf8
        }
        for key in firstNumbers + firstAddresses {
            withUnsafeBytes(of: key.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }
}

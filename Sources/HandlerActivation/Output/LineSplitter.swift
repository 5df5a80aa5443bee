/// Cuts a stream of bytes into lines of bounded length.
struct LineSplitter {
    /// Bytes of a line that are kept; the rest of it is left out, with a mark.
    static let maximumLineBytes = 4_096

    /// One line without its end.
    struct Line: Equatable {
        let bytes: [UInt8]
        /// It was longer; the rest is left out.
        let isCut: Bool
    }

    private var partial: [UInt8] = []
    /// The rest of a line that was cut, or counted, is passing by.
    private var isSkipping = false

    /// Takes the next bytes and hands out each line that they complete, until `take` refuses one. The lines from that
    /// one on are only counted, which is fast: this is how a flood passes.
    /// - Returns: Lines that were not taken.
    mutating func consume(_ bytes: UnsafeRawBufferPointer, _ take: (Line) -> Bool) -> Int {
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n"))
            let isTaken = add(rest[..<(end ?? rest.endIndex)], isEnded: end != nil, take)
            rest = rest[(end.map { $0 + 1 } ?? rest.endIndex)...]
            if !isTaken { return 1 + pass(rest) }
        }
        return 0
    }

    /// Counts lines without looking at them.
    /// - Returns: Those that end in `bytes`, and one that begins there; a line is counted once.
    mutating func pass(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
        guard let last = bytes.last else { return 0 }
        var count = isSkipping ? -1 : 0
        for byte in bytes where byte == UInt8(ascii: "\n") { count += 1 }
        isSkipping = last != UInt8(ascii: "\n")
        partial.removeAll(keepingCapacity: true)
        return count + (isSkipping ? 1 : 0)
    }

    /// Hands out what has begun and has no end.
    /// - Parameter isCut: Bytes are missing behind it; the next line then starts after the next end.
    /// - Returns: False when the line was not taken.
    mutating func flush(isCut: Bool, _ take: (Line) -> Bool) -> Bool {
        defer { isSkipping = isCut }
        return partial.isEmpty || handOut(isCut: isCut, take)
    }

    /// Adds to the line that has begun. False when it was handed out and not taken.
    private mutating func add(_ bytes: Slice<UnsafeRawBufferPointer>, isEnded: Bool, _ take: (Line) -> Bool) -> Bool {
        if isSkipping {
            isSkipping = !isEnded
            return true
        }
        let room = Self.maximumLineBytes - partial.count
        partial += bytes.prefix(room)
        let isCut = bytes.count > room
        guard isCut || isEnded else { return true }
        isSkipping = !isEnded
        return handOut(isCut: isCut, take)
    }

    private mutating func handOut(isCut: Bool, _ take: (Line) -> Bool) -> Bool {
        if !isCut, partial.last == UInt8(ascii: "\r") { partial.removeLast() }
        defer { partial.removeAll(keepingCapacity: true) }
        return take(Line(bytes: partial, isCut: isCut))
    }
}

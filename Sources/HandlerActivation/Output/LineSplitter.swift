/// Cuts a stream of bytes into lines of bounded length.
struct LineSplitter {
    /// Maximum bytes of a line. The rest is dropped, and the line is marked as cut.
    static let maximumLineBytes = 4_096

    /// One line without its line end.
    struct Line: Equatable {
        let bytes: [UInt8]
        /// The line was longer, and its rest was dropped.
        let isCut: Bool
    }

    private var partial: [UInt8] = []
    /// Skip bytes to the next line end: the rest of a line that was cut or counted.
    private var isSkipping = false

    /// Passes each completed line to `take` until `take` refuses one. That line and the following ones are only
    /// counted, which is fast enough for a flood.
    /// - Returns: the number of lines that were not taken.
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

    /// Counts lines without passing them on.
    /// - Returns: the lines that end in `bytes`, and one that begins there. Each line is counted once.
    mutating func pass(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
        guard let last = bytes.last else { return 0 }
        var count = isSkipping ? -1 : 0
        for byte in bytes where byte == UInt8(ascii: "\n") { count += 1 }
        isSkipping = last != UInt8(ascii: "\n")
        partial.removeAll(keepingCapacity: true)
        return count + (isSkipping ? 1 : 0)
    }

    /// Passes on the unfinished line.
    /// - Parameter isCut: the bytes after it are missing, so the next line starts after the next line end.
    /// - Returns: false if the line was not taken.
    mutating func flush(isCut: Bool, _ take: (Line) -> Bool) -> Bool {
        defer { isSkipping = isCut }
        return partial.isEmpty || handOut(isCut: isCut, take)
    }

    /// Adds to the unfinished line. Returns false if the line was passed on and not taken.
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

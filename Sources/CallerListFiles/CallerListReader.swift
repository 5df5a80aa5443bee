package import RingwakeCore

/// Reads a file of callers piece by piece: an address book, a spreadsheet, or a plain list.
///
/// Bad lines are reported with their number, and the others are used.
///
///     var reader = CallerListReader(format: .auto)
///     while let piece = next() { entries += try reader.read(piece) }
///     entries += try reader.finish()
///     print(reader.problems.count)
package struct CallerListReader {
    /// The maximum size of a file in bytes.
    package static let maximumBytes = 256 * 1_048_576
    /// The maximum number of entries in a file.
    package static let maximumEntries = 5_000_000

    /// The format of the file; `auto` until it is detected.
    package private(set) var format: CallerListFormat
    /// The bad lines.
    package private(set) var problems = CallerListProblems()
    /// The number of entries so far.
    package private(set) var entryCount = 0

    private let rules: DiallingRules
    private let maximumBytes: Int
    private var bytes = 0
    /// The first two bytes: a file of UTF-16 begins with a mark.
    private var mark: [UInt8] = []
    private var lines = LineCutter()
    /// The reader for the format; nil until the format is known.
    private var reader: (any LineReader)?

    /// - Parameter rules: the dialling rules for the numbers in the file, if they are not the device's.
    package init(format: CallerListFormat = .auto, rules: DiallingRules = .none) {
        self.init(format: format, rules: rules, maximumBytes: CallerListReader.maximumBytes)
    }

    init(format: CallerListFormat, rules: DiallingRules, maximumBytes: Int) {
        self.format = format
        self.rules = rules
        self.maximumBytes = maximumBytes
    }

    /// Reads the next piece of the file, of any size, and returns the entries that it completes.
    /// - Throws: `limitReached` for a file of more than 256 MiB or 5,000,000 entries, `invalidRequest` for a file that
    ///   is not UTF-8 text.
    package mutating func read(_ piece: [UInt8]) throws(RingwakeError) -> [CallerEntry] {
        try refuseForeignText(piece)
        bytes += piece.count
        guard bytes <= maximumBytes else {
            throw RingwakeError(.limitReached, "the list has more than \(maximumBytes >> 20) MiB: split it")
        }
        return try entries(of: lines.take(piece))
    }

    /// Ends the file, and returns the remaining entries.
    package mutating func finish() throws(RingwakeError) -> [CallerEntry] {
        try entries(of: lines.finish(), isLast: true)
    }

    private mutating func entries(
        of lines: [LineCutter.Line], isLast: Bool = false
    ) throws(RingwakeError) -> [CallerEntry] {
        var entries: [CallerEntry] = []
        for line in lines {
            if format == .auto, let found = FormatGuess.format(of: line.bytes) { format = found }
            guard format != .auto else { continue }
            var current = reader ?? format.reader
            reader = nil
            take(current.take(line, &problems), &entries)
            reader = current
        }
        if isLast { take(reader?.finish(&problems) ?? [], &entries) }
        guard entryCount <= CallerListReader.maximumEntries else {
            throw RingwakeError(
                .limitReached, "the list has more than \(CallerListReader.maximumEntries) entries: split it")
        }
        return entries
    }

    /// Converts the entries of a format's reader. An invalid pattern is a problem.
    private mutating func take(_ found: [RawEntry], _ entries: inout [CallerEntry]) {
        for entry in found {
            do throws(RingwakeError) {
                let pattern = try CallerPattern(entry.pattern, rules: rules)
                if entry.isTelephone, case .exact(let caller) = pattern.kind, caller.kind == .address,
                    caller.domain == nil
                {
                    throw RingwakeError(.invalidRequest, "'\(caller.text)' is no telephone number and no address")
                }
                entries.append(CallerEntry(pattern: pattern, label: entry.label))
                entryCount += 1
            } catch {
                problems.add(line: entry.line, error.message)
            }
        }
    }

    // Spreadsheets save "Unicode text" as UTF-16. A file with zero bytes is not a list.
    private mutating func refuseForeignText(_ piece: [UInt8]) throws(RingwakeError) {
        mark += piece.prefix(2 - mark.count)
        let isWide = mark == [0xFF, 0xFE] || mark == [0xFE, 0xFF]
        guard !isWide, !piece.prefix(max(0, 4_096 - bytes)).contains(0) else {
            throw RingwakeError(.invalidRequest, "the list is no text in UTF-8: save it as UTF-8, and import that")
        }
    }
}

/// An entry of a line, before its pattern is parsed.
struct RawEntry: Equatable {
    var line: Int
    var pattern: String
    var label: String?
    /// Whether it must be a number or an address. A single word is an error then.
    var isTelephone = false
}

/// Reads the lines of one format.
protocol LineReader {
    mutating func take(_ line: LineCutter.Line, _ problems: inout CallerListProblems) -> [RawEntry]
    /// Ends the file.
    mutating func finish(_ problems: inout CallerListProblems) -> [RawEntry]
}

extension CallerListFormat {
    fileprivate var reader: any LineReader {
        switch self {
        case .vCard: CardReader()
        case .csv: TableReader()
        case .list, .auto: PlainList()
        }
    }
}

/// Detects the format from a line.
enum FormatGuess {
    /// Nil for a blank line or a comment.
    static func format(of line: [UInt8]) -> CallerListFormat? {
        let blank = UInt8(ascii: " ")
        let text = line.drop { $0 <= blank }
        guard let first = text.first, first != UInt8(ascii: "#") else { return nil }
        let start = String(decoding: text.prefix(16), as: UTF8.self).lowercased()
        if start.hasPrefix("begin:vcard") { return .vCard }
        // A SIP URI may contain commas and semicolons of its own.
        if ["sip:", "sips:", "tel:", "<sip", "<tel"].contains(where: start.hasPrefix) {
            return text.contains(UInt8(ascii: ",")) || text.contains(UInt8(ascii: "\t")) ? .csv : .list
        }
        let isTable = first == UInt8(ascii: "\"") || text.contains { [0x2C, 0x3B, 0x09].contains($0) }
        return isTable || TableHeader.isHeader([start]) ? .csv : .list
    }
}

/// One pattern per line.
struct PlainList: LineReader {
    func finish(_ problems: inout CallerListProblems) -> [RawEntry] { [] }

    func take(_ line: LineCutter.Line, _ problems: inout CallerListProblems) -> [RawEntry] {
        var bytes = line.bytes[...]
        // A comment starts at the beginning of the line or after a blank: `#` may also be part of an address.
        var previous = UInt8(ascii: " ")
        if let comment = bytes.indices.first(where: { index in
            defer { previous = bytes[index] }
            return bytes[index] == UInt8(ascii: "#") && previous <= UInt8(ascii: " ")
        }) {
            bytes = bytes[..<comment]
        }
        guard bytes.contains(where: { $0 > UInt8(ascii: " ") }) else { return [] }
        guard !line.isCut else {
            problems.add(line: line.number, "the line is longer than \(LineCutter.maximumBytes) bytes")
            return []
        }
        let parts = bytes.split(separator: UInt8(ascii: "\t"), maxSplits: 1)
        let label = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : nil
        return [RawEntry(line: line.number, pattern: String(decoding: parts[0], as: UTF8.self), label: label)]
    }
}

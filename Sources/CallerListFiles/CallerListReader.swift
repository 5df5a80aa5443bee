package import RingwakeCore

/// Reads a file of callers piece by piece: an address book, a spreadsheet, or a plain list.
///
/// What cannot be used is reported with its line, and the rest is taken.
///
///     var reader = CallerListReader(format: .auto)
///     while let piece = next() { entries += try reader.read(piece) }
///     entries += try reader.finish()
///     print(reader.problems.count)
package struct CallerListReader {
    /// The most bytes of a file.
    package static let maximumBytes = 256 * 1_048_576
    /// The most entries of a file.
    package static let maximumEntries = 5_000_000

    /// How the file is written; `auto` until its first line that says something.
    package private(set) var format: CallerListFormat
    /// What could not be used.
    package private(set) var problems = CallerListProblems()
    /// How many entries it had so far.
    package private(set) var entryCount = 0

    private let rules: DiallingRules
    private let maximumBytes: Int
    private var bytes = 0
    private var lines = LineCutter()
    /// Of the format; nil before the first line that says something.
    private var reader: (any LineReader)?

    /// - Parameter rules: those of the place that the file's numbers are written for, where it is not the device's.
    package init(format: CallerListFormat = .auto, rules: DiallingRules = .none) {
        self.init(format: format, rules: rules, maximumBytes: CallerListReader.maximumBytes)
    }

    init(format: CallerListFormat, rules: DiallingRules, maximumBytes: Int) {
        self.format = format
        self.rules = rules
        self.maximumBytes = maximumBytes
    }

    /// Takes the next piece of the file, of any size, and returns the entries that are complete with it.
    /// - Throws: `limitReached` for a file of more than 256 MiB or 5,000,000 entries, `invalidRequest` for one that is
    ///   no text in UTF-8.
    package mutating func read(_ piece: [UInt8]) throws(RingwakeError) -> [CallerEntry] {
        if bytes == 0 { try refuseForeignText(piece) }
        bytes += piece.count
        guard bytes <= maximumBytes else {
            throw RingwakeError(.limitReached, "the list has more than \(maximumBytes >> 20) MiB: split it")
        }
        return try entries(of: lines.take(piece))
    }

    /// The file has ended: returns the entries that were not complete before.
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

    /// Makes entries of what a format found; what is no pattern is a problem.
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

    // Spreadsheets write "Unicode text" as UTF-16, and programs people mistake for lists hold zeros.
    private func refuseForeignText(_ piece: [UInt8]) throws(RingwakeError) {
        let isWide = piece.starts(with: [0xFF, 0xFE]) || piece.starts(with: [0xFE, 0xFF])
        guard !isWide, !piece.prefix(4_096).contains(0) else {
            throw RingwakeError(.invalidRequest, "the list is no text in UTF-8: save it as UTF-8, and import that")
        }
    }
}

/// What a format found on a line, before it is read as a pattern.
struct RawEntry: Equatable {
    var line: Int
    var pattern: String
    var label: String?
    /// Whether it must be a number or an address: a handle of one word is a mistake here.
    var isTelephone = false
}

/// Reads the lines of one format.
protocol LineReader {
    mutating func take(_ line: LineCutter.Line, _ problems: inout CallerListProblems) -> [RawEntry]
    /// The file has ended.
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

/// Tells the format by a line.
enum FormatGuess {
    /// Nil for a line that says nothing: blank, or a comment.
    static func format(of line: [UInt8]) -> CallerListFormat? {
        let blank = UInt8(ascii: " ")
        let text = line.drop { $0 <= blank }
        guard let first = text.first, first != UInt8(ascii: "#") else { return nil }
        let start = String(decoding: text.prefix(16), as: UTF8.self).lowercased()
        if start.hasPrefix("begin:vcard") { return .vCard }
        // A SIP URI may hold commas and semicolons of its own.
        if ["sip:", "sips:", "tel:", "<sip", "<tel"].contains(where: start.hasPrefix) {
            return text.contains(UInt8(ascii: ",")) || text.contains(UInt8(ascii: "\t")) ? .csv : .list
        }
        let isTable = first == UInt8(ascii: "\"") || text.contains { [0x2C, 0x3B, 0x09].contains($0) }
        return isTable || TableHeader.isHeader([start]) ? .csv : .list
    }
}

/// One pattern a line.
struct PlainList: LineReader {
    func finish(_ problems: inout CallerListProblems) -> [RawEntry] { [] }

    func take(_ line: LineCutter.Line, _ problems: inout CallerListProblems) -> [RawEntry] {
        var bytes = line.bytes[...]
        // A comment begins the line or follows a blank: `#` may be part of an address.
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

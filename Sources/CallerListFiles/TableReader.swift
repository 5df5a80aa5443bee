/// Reads comma-separated values (RFC 4180), with quotes and line ends within them, with or without column names.
struct TableReader: LineReader {
    private var header: TableHeader?
    private var separator: UInt8?
    private var row = Row()

    /// An incomplete row; it may have several lines.
    private struct Row {
        var cells: [[UInt8]] = []
        var cell: [UInt8] = []
        var isCellBlank = true
        var isQuoted = false
        var firstLine = 0
        var bytes = 0
    }

    mutating func take(_ line: LineCutter.Line, _ problems: inout CallerListProblems) -> [RawEntry] {
        if !row.isQuoted { row.firstLine = line.number }
        row.bytes += line.bytes.count + 1
        guard !line.isCut, row.bytes <= LineCutter.maximumBytes else {
            problems.add(
                line: row.firstLine,
                "the row is longer than \(LineCutter.maximumBytes) bytes, or a quote is never closed")
            row = Row()
            return []
        }
        let separator = separator ?? TableReader.separator(of: line.bytes)
        let isBlank = !row.isQuoted && line.bytes.allSatisfy { $0 <= UInt8(ascii: " ") }
        if isBlank {
            row = Row()
            return []
        }
        self.separator = separator
        read(line.bytes, separator)
        if row.isQuoted {
            row.cell.append(UInt8(ascii: "\n"))
            return []
        }
        return finishRow(&problems)
    }

    mutating func finish(_ problems: inout CallerListProblems) -> [RawEntry] {
        if row.isQuoted { problems.add(line: row.firstLine, "the quote that begins here is never closed") }
        return []
    }

    private mutating func read(_ bytes: [UInt8], _ separator: UInt8) {
        let quote = UInt8(ascii: "\"")
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if row.isQuoted, byte == quote, index + 1 < bytes.count, bytes[index + 1] == quote {
                row.cell.append(quote)
                index += 1
            } else if byte == quote, row.isQuoted || row.isCellBlank {
                row.isQuoted.toggle()
                if row.isQuoted { row.cell.removeAll() }
                row.isCellBlank = row.isCellBlank && !row.isQuoted
            } else if byte == separator, !row.isQuoted {
                row.cells.append(row.cell)
                row.cell = []
                row.isCellBlank = true
            } else {
                row.cell.append(byte)
                row.isCellBlank = row.isCellBlank && byte == UInt8(ascii: " ")
            }
            index += 1
        }
    }

    private mutating func finishRow(_ problems: inout CallerListProblems) -> [RawEntry] {
        let cells = (row.cells + [row.cell]).map { String(decoding: $0, as: UTF8.self) }
        defer { row = Row() }
        if self.header == nil, let found = TableHeader(cells) {
            self.header = found
            return []
        }
        let header = self.header ?? TableHeader.none
        self.header = header
        if cells.first?.hasPrefix("#") == true { return [] }
        let found = header.entries(of: cells, line: row.firstLine)
        // Contacts without a number are common in an address book, which has several columns of callers. With one
        // column, a row without a caller is an error.
        if found.isEmpty, header.valueColumns.count < 2 { problems.add(line: row.firstLine, "the row names no caller") }
        return found
    }

    /// A tab if the first row has one. Otherwise commas or semicolons, whichever is more frequent outside quotes.
    private static func separator(of bytes: [UInt8]) -> UInt8 {
        var (commas, semicolons, isQuoted) = (0, 0, false)
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "\t") where !isQuoted: return byte
            case UInt8(ascii: ",") where !isQuoted: commas += 1
            case UInt8(ascii: ";") where !isQuoted: semicolons += 1
            default: break
            }
        }
        return semicolons > commas ? UInt8(ascii: ";") : UInt8(ascii: ",")
    }
}

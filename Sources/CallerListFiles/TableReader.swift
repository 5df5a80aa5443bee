/// Reads comma-separated values (RFC 4180): quotes, line ends within them, a row of names at the top or none.
struct TableReader: LineReader {
    private var header: TableHeader?
    private var separator: UInt8?
    private var row: [[UInt8]] = []
    private var cell: [UInt8] = []
    private var isCellBlank = true
    private var isQuoted = false
    private var firstLine = 0
    private var rowBytes = 0

    mutating func take(_ line: LineCutter.Line, _ problems: inout CallerListProblems) -> [RawEntry] {
        if !isQuoted { firstLine = line.number }
        rowBytes += line.bytes.count + 1
        guard !line.isCut, rowBytes <= LineCutter.maximumBytes else {
            problems.add(
                line: firstLine, "the row is longer than \(LineCutter.maximumBytes) bytes, or a quote is never closed")
            startRow()
            return []
        }
        let separator = separator ?? TableReader.separator(of: line.bytes)
        let isBlank = !isQuoted && line.bytes.allSatisfy { $0 <= UInt8(ascii: " ") }
        if isBlank {
            startRow()
            return []
        }
        self.separator = separator
        read(line.bytes, separator)
        if isQuoted {
            cell.append(UInt8(ascii: "\n"))
            return []
        }
        return finishRow(&problems)
    }

    mutating func finish(_ problems: inout CallerListProblems) -> [RawEntry] {
        if isQuoted { problems.add(line: firstLine, "the quote that begins here is never closed") }
        return []
    }

    private mutating func read(_ bytes: [UInt8], _ separator: UInt8) {
        let quote = UInt8(ascii: "\"")
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if isQuoted, byte == quote, index + 1 < bytes.count, bytes[index + 1] == quote {
                cell.append(quote)
                index += 1
            } else if byte == quote, isQuoted || isCellBlank {
                isQuoted.toggle()
                if isQuoted { cell.removeAll() }
                isCellBlank = isCellBlank && !isQuoted
            } else if byte == separator, !isQuoted {
                row.append(cell)
                cell = []
                isCellBlank = true
            } else {
                cell.append(byte)
                isCellBlank = isCellBlank && byte == UInt8(ascii: " ")
            }
            index += 1
        }
    }

    private mutating func finishRow(_ problems: inout CallerListProblems) -> [RawEntry] {
        let cells = (row + [cell]).map { String(decoding: $0, as: UTF8.self) }
        startRow()
        guard let header else {
            let found = TableHeader(cells)
            header = found ?? TableHeader.none
            return found == nil ? take(cells, by: TableHeader.none, &problems) : []
        }
        return take(cells, by: header, &problems)
    }

    private func take(
        _ cells: [String], by header: TableHeader, _ problems: inout CallerListProblems
    ) -> [RawEntry] {
        if cells.first?.hasPrefix("#") == true { return [] }
        let found = header.entries(of: cells, line: firstLine)
        // A card without a number is common in an exported address book; a row without anything is not.
        if found.isEmpty, header.valueColumns.count < 2 { problems.add(line: firstLine, "the row names no caller") }
        return found
    }

    private mutating func startRow() {
        row = []
        cell = []
        isCellBlank = true
        isQuoted = false
        rowBytes = 0
    }

    /// A tab where the first row has one, else what it has more of outside quotes: commas, or semicolons.
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

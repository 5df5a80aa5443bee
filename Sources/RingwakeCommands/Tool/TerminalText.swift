import ControlProtocol

/// How output for people looks: colours and local times where the output is a terminal.
struct TextStyle: Equatable, Sendable {
    /// Whether there are colours.
    let isEnabled: Bool
    var times = TimeStyle.utc

    func bold(_ text: String) -> String { dress(text, "1") }
    func dim(_ text: String) -> String { dress(text, "2") }
    func good(_ text: String) -> String { dress(text, "32") }
    func bad(_ text: String) -> String { dress(text, "31") }

    private func dress(_ text: String, _ code: String) -> String {
        isEnabled ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

/// Makes untrusted text safe to show.
enum TerminalText {
    /// `text` with each control, direction and invisible character as `?`: a caller's name must not steer the terminal
    /// that shows it.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.isUnsafeToShow) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            result.append(scalar.isUnsafeToShow ? "?" : scalar)
        }
        return String(result)
    }
}

/// Rows with aligned columns.
struct TextTable {
    /// Where the text of a column stands.
    enum Alignment: Sendable {
        case left
        case right
    }

    private let alignments: [Alignment]
    private var rows: [[String]] = []

    init(_ alignments: [Alignment]) {
        self.alignments = alignments
    }

    mutating func add(_ cells: [String]) {
        rows.append(cells)
    }

    /// The text of a list: one line a row. The first row is the headings.
    func list(style: TextStyle) -> String {
        var lines = lines().map(TerminalText.printable)
        if let headings = lines.first { lines[0] = style.dim(headings) }
        return lines.map { $0 + "\n" }.joined()
    }

    /// The rows, each with `indent` spaces before and two between the columns, and no space at its end.
    func lines(indent: Int = 0) -> [String] {
        var widths = [Int](repeating: 0, count: alignments.count)
        for row in rows {
            for (column, cell) in row.enumerated() where column < widths.count {
                widths[column] = max(widths[column], cell.count)
            }
        }
        return rows.map { row in
            let cells = zip(zip(row, widths), alignments).map { pair, alignment in
                let padding = String(repeating: " ", count: max(0, pair.1 - pair.0.count))
                return alignment == .left ? pair.0 + padding : padding + pair.0
            }
            let line = String(repeating: " ", count: indent) + cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}

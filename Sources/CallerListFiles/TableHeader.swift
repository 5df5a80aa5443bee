internal import RingwakeCore

/// The columns of a table that contain callers, and those that contain their labels.
struct TableHeader {
    let valueColumns: [Int]
    private let prefixColumns: Set<Int>
    private let labelColumns: [Int]

    /// For a table without column names: the caller, then the label.
    static let none = TableHeader(valueColumns: [0], prefixColumns: [], labelColumns: [1])

    private static let values: Set<String> = [
        "number", "phone", "telephone", "tel", "mobile", "caller", "pattern", "handle", "uri", "sip", "prefix",
        "phone number", "phone_number", "phonenumber", "caller id", "callerid", "nummer", "rufnummer", "telefon",
    ]
    private static let labels = ["label", "name", "display name", "full name", "description", "comment", "company"]
    private static let nameParts = ["first name", "last name", "given name", "family name"]
    // The maximum number of columns that are checked, so that a long row costs no more than its bytes.
    private static let maximumColumns = 256

    private init(valueColumns: [Int], prefixColumns: Set<Int>, labelColumns: [Int]) {
        self.valueColumns = valueColumns
        self.prefixColumns = prefixColumns
        self.labelColumns = labelColumns
    }

    /// Nil if the cells are not column names.
    init?(_ cells: [String]) {
        let names = cells.prefix(TableHeader.maximumColumns).map(TableHeader.name)
        let values = names.indices.filter { TableHeader.isValue(names[$0]) }
        guard !values.isEmpty else { return nil }
        valueColumns = values
        prefixColumns = Set(values.filter { names[$0] == "prefix" })
        let label = TableHeader.labels.lazy.compactMap { names.firstIndex(of: $0) }.first
        labelColumns = label.map { [$0] } ?? TableHeader.nameParts.compactMap { names.firstIndex(of: $0) }
    }

    /// Whether one of the cells is the name of a column with callers.
    static func isHeader(_ cells: [String]) -> Bool { cells.contains { isValue(name($0)) } }

    /// The callers of a row.
    func entries(of cells: [String], line: Int) -> [RawEntry] {
        let words = labelColumns.filter { $0 < cells.count }.map { cells[$0] }.filter { !TableHeader.isBlank($0) }
        let label = words.isEmpty ? nil : words.joined(separator: " ")
        var entries: [RawEntry] = []
        for column in valueColumns where column < cells.count {
            // Exported address books put several numbers into one cell.
            for value in TableHeader.parts(of: cells[column]) where !TableHeader.isBlank(value) {
                let isPrefix = prefixColumns.contains(column) && !value.contains("*")
                entries.append(RawEntry(line: line, pattern: isPrefix ? "\(value)*" : value, label: label))
            }
        }
        return entries
    }

    private static func isValue(_ name: String) -> Bool {
        // "Phone 1 - Value", "Mobile Phone", but not "Phone 1 - Type" and not "Phone 1 - Label".
        let isAboutPhones = name.contains("phone") && !name.hasSuffix("type") && !name.hasSuffix("label")
        return values.contains(name) || isAboutPhones
    }

    private static func name(_ cell: String) -> String {
        cell.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static func isBlank(_ text: String) -> Bool { text.allSatisfy(\.isWhitespace) }

    private static func parts(of cell: String) -> [String] {
        cell.split(separator: ":::").map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
    }
}

internal import RingwakeCore

/// Reads one table key by key, and afterwards refuses the keys that nobody asked for: a misspelt setting must not
/// be silently the default.
nonisolated struct TOMLReader {
    private let file: String
    /// The table's name as in its header, `server` or `team.key`; empty for the outermost.
    private let path: String
    private let line: UInt32
    private let members: [String: TOMLNode]
    private var known: Set<String> = []

    init(_ document: TOMLDocument) throws(RingwakeError) {
        try self.init(document.root, path: "", file: document.file)
    }

    private init(_ node: TOMLNode, path: String, file: String) throws(RingwakeError) {
        guard case .table(let members) = node.value else {
            throw RingwakeError(.badConfiguration, "\(file):\(node.line): '\(path)' has to be a table, [\(path)]")
        }
        self.file = file
        self.path = path
        line = node.line
        self.members = Dictionary(members.map { ($0.key, $0.node) }) { first, _ in first }
    }

    /// The text under `key`; nil when the key is absent.
    mutating func string(_ key: String) throws(RingwakeError) -> String? {
        guard let node = take(key) else { return nil }
        guard case .string(let text) = node.value else { throw wrongKind(key, node, "text in quotes") }
        guard !text.utf8.contains(0) else { throw wrongKind(key, node, "text without a zero byte") }
        return text
    }

    /// The texts of the array under `key`; nil when the key is absent.
    mutating func strings(_ key: String) throws(RingwakeError) -> [String]? {
        guard let node = take(key) else { return nil }
        guard case .array(let elements) = node.value else { throw wrongKind(key, node, "an array of texts") }
        var texts: [String] = []
        for element in elements {
            guard case .string(let text) = element.value, !text.utf8.contains(0) else {
                throw wrongKind(key, element, "an array of texts")
            }
            texts.append(text)
        }
        return texts
    }

    /// The whole number under `key`, which has to lie in `range`; nil when the key is absent.
    mutating func integer(_ key: String, in range: ClosedRange<Int>) throws(RingwakeError) -> Int? {
        guard let node = take(key) else { return nil }
        guard case .integer(let value) = node.value, let number = Int(exactly: value), range.contains(number) else {
            throw wrongKind(key, node, "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The duration under `key`, as in "5s"; nil when the key is absent.
    mutating func duration(_ key: String) throws(RingwakeError) -> Duration? {
        guard let node = take(key) else { return nil }
        guard case .string(let text) = node.value, let duration = Duration(configurationText: text) else {
            throw wrongKind(
                key, node,
                "a duration such as \"500ms\", \"5s\", \"2m\", \"4h\" or \"30d\", above zero and at most \"366d\"")
        }
        return duration
    }

    /// The duration under `key`, of at most so many seconds; zero counts as one. Nil when the key is absent.
    mutating func duration(_ key: String, upToSeconds most: Int) throws(RingwakeError) -> Duration? {
        guard let node = take(key) else { return nil }
        guard case .string(let text) = node.value,
            let duration = ["0s", "0ms"].contains(text) ? .zero : Duration(configurationText: text),
            duration <= .seconds(most)
        else {
            throw wrongKind(key, node, "a duration from \"0s\" to \"\(most)s\", such as \"500ms\"")
        }
        return duration
    }

    /// The Boolean under `key`; nil when the key is absent.
    mutating func boolean(_ key: String) throws(RingwakeError) -> Bool? {
        guard let node = take(key) else { return nil }
        guard case .boolean(let value) = node.value else { throw wrongKind(key, node, "true or false") }
        return value
    }

    /// The table under `key`; nil when it is absent.
    mutating func table(_ key: String) throws(RingwakeError) -> TOMLReader? {
        guard let node = take(key) else { return nil }
        return try TOMLReader(node, path: name(of: key), file: file)
    }

    /// Whether `key` is there and holds a table, for a setting that may be a text as well.
    func isTable(_ key: String) -> Bool {
        guard case .table = members[key]?.value else { return false }
        return true
    }

    /// The tables of the array `[[key]]`; none when it is absent.
    mutating func tables(_ key: String) throws(RingwakeError) -> [TOMLReader] {
        guard let node = take(key) else { return [] }
        guard case .array(let elements) = node.value else {
            throw wrongKind(key, node, "an array of tables, [[\(name(of: key))]]")
        }
        var readers: [TOMLReader] = []
        for element in elements {
            readers.append(try TOMLReader(element, path: name(of: key), file: file))
        }
        return readers
    }

    /// An error that names the setting under `key`, its file and its line.
    func invalid(_ key: String, _ problem: String) -> RingwakeError {
        RingwakeError(.badConfiguration, "\(file):\(members[key]?.line ?? line): '\(name(of: key))' \(problem)")
    }

    /// An error for a setting that has to be there.
    func missing(_ key: String) -> RingwakeError {
        RingwakeError(.badConfiguration, "\(file):\(line): '\(name(of: key))' is missing; it has no default")
    }

    /// Throws for the first key that was never asked for, with the nearest of those that were.
    func refuseUnknownKeys() throws(RingwakeError) {
        let unknown = members.filter { !known.contains($0.key) }.min { $0.value.line < $1.value.line }
        guard let (key, node) = unknown else { return }
        let suggestion = TOMLReader.suggestion(for: key, among: known) { name(of: $0) }
        throw RingwakeError(
            .badConfiguration, "\(file):\(node.line): '\(name(of: key))' is not a setting\(suggestion)")
    }

    /// The end of a message about the unknown word `word`: the nearest of `known`, as `name` writes it, or all of
    /// them.
    static func suggestion(
        for word: String, among known: some Collection<String>, name: (String) -> String = { $0 }
    ) -> String {
        let nearest = known.min { distance($0, word) < distance($1, word) }
        guard let nearest, distance(nearest, word) <= max(2, word.count / 3) else {
            return "; known here: \(known.sorted().joined(separator: ", "))"
        }
        return "; did you mean '\(name(nearest))'?"
    }

    private mutating func take(_ key: String) -> TOMLNode? {
        known.insert(key)
        return members[key]
    }

    private func name(of key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }

    private func wrongKind(_ key: String, _ node: TOMLNode, _ expected: String) -> RingwakeError {
        RingwakeError(.badConfiguration, "\(file):\(node.line): '\(name(of: key))' has to be \(expected)")
    }
}

extension Duration {
    /// Reads a whole number with its unit, `ms`, `s`, `m`, `h` or `d`; nil for anything else, for zero, and for more
    /// than a year.
    nonisolated init?(configurationText text: String) {
        let units: [(suffix: String, milliseconds: Int64)] = [
            ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
        ]
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let unit = units.first(where: { $0.suffix == text.dropFirst(digits.count) }),
            let count = Int64(digits), count > 0
        else { return nil }
        let (milliseconds, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
        guard !overflow, milliseconds <= 366 * 24 * 3_600_000 else { return nil }
        self = .milliseconds(milliseconds)
    }
}

/// How many insertions, deletions and replacements turn one text into the other (Levenshtein).
private nonisolated func distance(_ left: String, _ right: String) -> Int {
    let right = Array(right.prefix(64))
    var row = Array(0...right.count)
    for (index, character) in left.prefix(64).enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for column in right.indices {
            let replaced = diagonal + (right[column] == character ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
        }
    }
    return row[right.count]
}

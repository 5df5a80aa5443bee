internal import RingwakeCore

/// A table of a TOML file, with the file, path and line for error messages.
struct TOMLReader {
    private let file: String
    /// The directory of relative paths.
    private let directory: String
    /// Name of the table as in its header, `server` or `team.key`; empty for the root.
    private let path: String
    private let line: UInt32
    private let members: [String: TOMLNode]

    init(_ document: TOMLDocument) throws(RingwakeError) {
        try self.init(document.root, path: "", directory: Configuration.directory(of: document.file))
    }

    private init(_ node: TOMLNode, path: String, directory: String) throws(RingwakeError) {
        guard case .table(let members) = node.value else {
            throw RingwakeError(.badConfiguration, "\(node.place): '\(path)' has to be a table, [\(path)]")
        }
        file = node.file
        self.directory = directory
        self.path = path
        line = node.line
        self.members = Dictionary(members.map { ($0.key, $0.node) }) { first, _ in first }
    }

    /// The value of `key`; nil if absent.
    subscript(key: String) -> TOMLNode? { members[key] }

    /// `path`; a relative one is resolved against the directory of the document, not of a drop-in.
    func absolute(_ path: String) -> String { path.hasPrefix("/") ? path : directory + "/" + path }

    /// The string `node` of `key`.
    func text(_ key: String, _ node: TOMLNode) throws(RingwakeError) -> String {
        guard case .string(let text) = node.value else { throw wrongType(key, node, "text in quotes") }
        guard !text.utf8.contains(0) else { throw wrongType(key, node, "text without a zero byte") }
        return text
    }

    /// The strings of the array `node` of `key`.
    func texts(_ key: String, _ node: TOMLNode) throws(RingwakeError) -> [String] {
        var texts: [String] = []
        guard case .array(let elements) = node.value else { throw wrongType(key, node, "an array of texts") }
        for element in elements {
            guard case .string(let text) = element.value, !text.utf8.contains(0) else {
                throw wrongType(key, element, "an array of texts")
            }
            texts.append(text)
        }
        return texts
    }

    /// The table `node` of `key`.
    func table(_ key: String, _ node: TOMLNode) throws(RingwakeError) -> TOMLReader {
        try TOMLReader(node, path: name(of: key), directory: directory)
    }

    /// The tables of the array `[[key]]`.
    func tables(_ key: String, _ node: TOMLNode) throws(RingwakeError) -> [TOMLReader] {
        guard case .array(let elements) = node.value else {
            throw wrongType(key, node, "an array of tables, [[\(name(of: key))]]")
        }
        var readers: [TOMLReader] = []
        for element in elements { readers.append(try table(key, element)) }
        return readers
    }

    /// An error that names the setting `key`, its file and its line.
    func invalid(_ key: String, _ problem: String) -> RingwakeError {
        RingwakeError(
            .badConfiguration, "\(members[key]?.place ?? "\(file):\(line)"): '\(name(of: key))' \(problem)")
    }

    /// An error for a value that is not of the type `expected`.
    func wrongType(_ key: String, _ node: TOMLNode, _ expected: String) -> RingwakeError {
        RingwakeError(.badConfiguration, "\(node.place): '\(name(of: key))' has to be \(expected)")
    }

    /// An error for a required setting that is missing.
    func missing(_ key: String) -> RingwakeError {
        RingwakeError(.badConfiguration, "\(file):\(line): '\(name(of: key))' is missing; it has no default")
    }

    /// Throws for the first key that isn't in `known`, and suggests the nearest one: a misspelt setting must not
    /// silently have its default.
    func refuseKeys(otherThan known: [String]) throws(RingwakeError) {
        let unknown = members.filter { !known.contains($0.key) }
            .min { ($0.value.file, $0.value.line) < ($1.value.file, $1.value.line) }
        guard let key = unknown?.key else { return }
        throw invalid(key, "is not a setting" + TOMLReader.suggestion(for: key, among: known) { name(of: $0) })
    }

    /// The end of a message about an unknown word: the nearest of `known`, as `name` writes it, or all of them.
    static func suggestion(
        for word: String, among known: [String], name: (String) -> String = { $0 }
    ) -> String {
        let nearest = known.min { distance($0, word) < distance($1, word) }
        guard let nearest, distance(nearest, word) <= max(2, word.count / 3) else {
            return "; known here: \(known.sorted().joined(separator: ", "))"
        }
        return "; did you mean '\(name(nearest))'?"
    }

    private func name(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }
}

/// The Levenshtein distance: the number of insertions, deletions and replacements.
private func distance(_ left: String, _ right: String) -> Int {
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

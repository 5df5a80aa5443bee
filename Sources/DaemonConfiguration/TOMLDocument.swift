internal import CRingwakeTOML
internal import RingwakeCore

/// A parsed TOML 1.0 document, with the file and the line of each value.
struct TOMLDocument {
    /// Path of the file, for messages.
    let file: String
    /// The root table.
    private(set) var root: TOMLNode

    /// Maximum bytes of a line. A dotted key is one line, and each dot opens a nested table. toml++ frees nested tables
    /// recursively, so this limits its stack use.
    static let maximumLineBytes = 4096

    /// Parses `bytes`. Throws `badConfiguration` with file, line and column if they aren't TOML.
    init(parsing bytes: [UInt8], file: String) throws(RingwakeError) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if let long = lines.firstIndex(where: { $0.count > TOMLDocument.maximumLineBytes }) {
            throw RingwakeError(
                .badConfiguration,
                "\(file):\(long + 1): the line has more than \(TOMLDocument.maximumLineBytes) bytes; "
                    + "an array can be written over several lines")
        }
        var failure = ringwake_toml_error()
        // The extra byte gives an empty file a base address. For toml++ it is just a line end.
        let text = bytes + [UInt8(ascii: "\n")]
        let document = text.withUnsafeBytes { raw in
            raw.baseAddress.flatMap { base in
                ringwake_toml_parse(base.assumingMemoryBound(to: CChar.self), raw.count, &failure)
            }
        }
        guard let document else {
            let message = withUnsafeBytes(of: failure.message) { raw in
                String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
            }
            throw RingwakeError(
                .badConfiguration, "\(file):\(failure.line):\(failure.column): not valid TOML: \(message)")
        }
        defer { ringwake_toml_free(document) }
        self.file = file
        guard let root = TOMLNode(copying: ringwake_toml_root(document), file: file, line: 1, depth: 0) else {
            throw RingwakeError(
                .badConfiguration, "\(file): tables or arrays are nested deeper than any setting; remove a level")
        }
        self.root = root
    }

    /// Adds a document that comes later: its values replace those of the same key, and its tables `[[key]]` are added.
    mutating func merge(_ later: TOMLDocument) { root.merge(later.root) }
}

/// One value of a TOML document.
struct TOMLNode {
    /// Path of the file that has it.
    let file: String
    /// Line of the value, from 1; the line of its key if it has one.
    let line: UInt32
    private(set) var value: Value

    /// `FILE:LINE`, for messages.
    var place: String { "\(file):\(line)" }

    indirect enum Value {
        case table([(key: String, node: TOMLNode)])
        case array([TOMLNode])
        case string(String)
        case integer(Int64)
        case boolean(Bool)
        /// A float or a date, which no setting uses.
        case other
    }

    /// Deeper than any setting: an array in `[[team.key]]` has six levels.
    private static let maximumDepth = 16

    /// Copies the tree, so that nothing refers to the C document afterwards. Nil if it is too deep.
    fileprivate init?(copying node: OpaquePointer, file: String, line: UInt32, depth: Int) {
        self.file = file
        let own = ringwake_toml_node_line(node)
        self.line = own == 0 ? line : min(own, line == 0 ? own : line)
        switch ringwake_toml_node_kind(node) {
        case RINGWAKE_TOML_TABLE, RINGWAKE_TOML_ARRAY:
            guard let members = TOMLNode.members(of: node, file: file, line: self.line, depth: depth) else {
                return nil
            }
            let isTable = ringwake_toml_node_kind(node) == RINGWAKE_TOML_TABLE
            value = isTable ? .table(members.sorted { $0.node.line < $1.node.line }) : .array(members.map(\.node))
        case RINGWAKE_TOML_STRING:
            value = .string(TOMLNode.copy(ringwake_toml_string(node)))
        case RINGWAKE_TOML_INTEGER:
            value = .integer(ringwake_toml_integer(node))
        case RINGWAKE_TOML_BOOLEAN:
            value = .boolean(ringwake_toml_boolean(node))
        default:
            value = .other
        }
    }

    private static func members(
        of node: OpaquePointer, file: String, line: UInt32, depth: Int
    ) -> [(key: String, node: TOMLNode)]? {
        guard depth < maximumDepth else { return nil }
        var members: [(key: String, node: TOMLNode)] = []
        var key = ringwake_toml_text()
        var keyLine: UInt32 = 0
        while let member = ringwake_toml_member(node, members.count, &key, &keyLine) {
            guard let copied = TOMLNode(copying: member, file: file, line: keyLine, depth: depth + 1) else {
                return nil
            }
            members.append((copy(key), copied))
        }
        return members
    }

    fileprivate mutating func merge(_ later: TOMLNode) {
        switch (value, later.value) {
        case (.table(var members), .table(let added)):
            for (key, node) in added {
                if let index = members.firstIndex(where: { $0.key == key }) {
                    members[index].node.merge(node)
                } else {
                    members.append((key, node))
                }
            }
            value = .table(members)
        case (.array(let elements), .array(let added))
        where elements.first?.isTable == true && added.first?.isTable == true:
            value = .array(elements + added)
        default: self = later
        }
    }

    var isTable: Bool {
        guard case .table = value else { return false }
        return true
    }

    private static func copy(_ text: ringwake_toml_text) -> String {
        String(decoding: UnsafeRawBufferPointer(start: text.bytes, count: text.length), as: UTF8.self)
    }
}

/// A key of `ringwaked.toml` or a drop-in, its value, and where that is from.
package struct SettingOrigin: Sendable, Equatable {
    /// The full key, such as `calls.ring` or `listener[1].address`; the first `[[listener]]` is number 1.
    package let key: String
    /// The value, for people.
    package let value: String
    /// The file that has it; nil for a default.
    package let file: String?
    /// The line in ``file``, from 1; nil for a default.
    package let line: Int?

    /// The keys that the document has, in order, then the defaults of the others.
    static func all(of configuration: Configuration, from document: TOMLDocument) -> [SettingOrigin] {
        var origins: [SettingOrigin] = []
        collect(document.root, "", into: &origins)
        let given = Set(origins.map(\.key))
        for facts in Configuration.table.flatMap({ $0.facts(configuration) })
        where !facts.isRepeated && !given.contains(facts.key) {
            let isUnset = facts.value.isEmpty || facts.value == "none"
            let value = isUnset ? facts.standard.filter { $0 != "`" } : facts.value
            origins.append(SettingOrigin(key: facts.key, value: value, file: nil, line: nil))
        }
        return origins
    }

    private static func collect(_ node: TOMLNode, _ key: String, into origins: inout [SettingOrigin]) {
        switch node.value {
        case .table(let members):
            for (name, member) in members { collect(member, key.isEmpty ? name : "\(key).\(name)", into: &origins) }
        case .array(let elements) where elements.contains(where: \.isTable):
            for (index, element) in elements.enumerated() {
                collect(element, "\(key)[\(index + 1)]", into: &origins)
            }
        default:
            origins.append(SettingOrigin(key: key, value: node.text, file: node.file, line: Int(node.line)))
        }
    }
}

extension TOMLNode {
    /// A value for people: texts without quotes, except in a list.
    fileprivate var text: String {
        switch value {
        case .string(let text): text
        case .integer(let number): "\(number)"
        case .boolean(let value): "\(value)"
        case .array(let elements): "[" + elements.map(\.quoted).joined(separator: ", ") + "]"
        case .table, .other: ""
        }
    }

    private var quoted: String {
        guard case .string(let text) = value else { return text }
        return "\"\(text)\""
    }
}

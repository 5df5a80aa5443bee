internal import RingwakeCore

/// A key of a table. This is the only place that defines its type, range, unit and default, where its value is stored,
/// and whether a change needs a restart. The reader and the restart check use it; the documents and manual pages are
/// checked against it.
struct Setting<Root>: Sendable {
    let name: String
    let isRequired: Bool
    let needsRestart: Bool
    let read: @Sendable (TOMLReader, TOMLNode, inout Root) throws(RingwakeError) -> Void
    /// Facts for the documents: of the key, or of the keys of the section. The root has the defaults.
    let facts: @Sendable (Root) -> [SettingFacts]
    let differs: @Sendable (Root, Root) -> Bool
    /// Copies the value from the first to the second.
    let copy: @Sendable (Root, inout Root) -> Void

    /// A key whose default is in the table's root.
    ///
    /// - Parameter standard: the default in the documents, if it isn't constant.
    init<Value>(
        _ name: String, _ type: ValueType<Value>, _ path: any WritableKeyPath<Root, Value> & Sendable,
        standard: String? = nil, isRequired: Bool = false, needsRestart: Bool = false
    ) {
        self.name = name
        self.isRequired = isRequired
        self.needsRestart = needsRestart
        read = { reader, node, root throws(RingwakeError) in
            root[keyPath: path] = try type.parse(reader, name, node, root[keyPath: path])
        }
        differs = { $0[keyPath: path] != $1[keyPath: path] }
        copy = { $1[keyPath: path] = $0[keyPath: path] }
        facts = { root in
            if let members = type.members {
                return members(root[keyPath: path]).map { $0.within(name, needsRestart: needsRestart) }
            }
            let shown = standard ?? (isRequired ? "none" : type.show(root[keyPath: path]))
            return [
                SettingFacts(
                    key: name, type: type.name, accepts: type.accepts, standard: shown,
                    value: type.show(root[keyPath: path]), needsRestart: needsRestart)
            ]
        }
    }

    /// Name in the list of what needs a restart: the section, or its key if it has just one.
    func label(_ root: Root) -> String {
        let keys = facts(root)
        return keys.count == 1 ? keys[0].key : name
    }

    /// An optional key.
    init<Value>(
        _ name: String, _ type: ValueType<Value>, _ path: any WritableKeyPath<Root, Value?> & Sendable,
        standard: String? = nil, isRequired: Bool = false
    ) {
        self.init(name, type.optional, path, standard: standard, isRequired: isRequired)
    }
}

/// Facts about a key, for the documents and `ringwake config show`.
struct SettingFacts: Equatable, Sendable {
    /// The full key, such as `calls.ring`.
    var key: String
    let type: String
    /// The allowed words, or the ends of the range.
    let accepts: [String]
    let standard: String
    /// The value in the root.
    let value: String
    /// Whether it is a key of a `[[section]]`.
    var isRepeated = false
    var needsRestart: Bool

    fileprivate func within(_ section: String, needsRestart: Bool) -> SettingFacts {
        var facts = self
        facts.key = "\(section).\(key)"
        facts.needsRestart = needsRestart
        return facts
    }
}

extension Array {
    /// Reads a table with these keys into `root`, which contains the defaults. Rejects other keys.
    func read<Root>(
        _ reader: TOMLReader, into root: inout Root
    ) throws(RingwakeError) where Element == Setting<Root> {
        for setting in self {
            if let node = reader[setting.name] { try setting.read(reader, node, &root) }
        }
        try reader.refuseKeys(otherThan: map(\.name))
        for setting in self where setting.isRequired && reader[setting.name] == nil {
            throw reader.missing(setting.name)
        }
    }
}

internal import RingwakeCore

/// One key of a table: the one place that says its type, range, unit and default, where its value is kept, and when a
/// change of it is in force. The reader and the list of what needs a restart follow it; the documents and the manual
/// pages are checked against it.
struct Setting<Root>: Sendable {
    let name: String
    let isRequired: Bool
    let needsRestart: Bool
    let read: @Sendable (TOMLReader, TOMLNode, inout Root) throws(RingwakeError) -> Void
    /// What the documents say of it, or of the keys of the section; the defaults are those of the root.
    let facts: @Sendable (Root) -> [SettingFacts]
    let differs: @Sendable (Root, Root) -> Bool
    /// Gives the second the value of the first.
    let copy: @Sendable (Root, inout Root) -> Void

    /// A key whose default is what the table's root begins with.
    ///
    /// - Parameter standard: the default as the documents say it, where it is not always the same.
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
                    key: name, type: type.name, accepts: type.accepts, standard: shown, needsRestart: needsRestart)
            ]
        }
    }

    /// What it is called where a section stands for its keys: a section with one key by that.
    func label(_ root: Root) -> String {
        let keys = facts(root)
        return keys.count == 1 ? keys[0].key : name
    }

    /// A key that may be left out.
    init<Value>(
        _ name: String, _ type: ValueType<Value>, _ path: any WritableKeyPath<Root, Value?> & Sendable,
        standard: String? = nil, isRequired: Bool = false
    ) {
        self.init(name, type.optional, path, standard: standard, isRequired: isRequired)
    }
}

/// What the documents say of one key.
struct SettingFacts: Equatable, Sendable {
    /// The whole key, such as `calls.ring`.
    var key: String
    let type: String
    /// The words that it may be, or the ends of its range.
    let accepts: [String]
    let standard: String
    var needsRestart: Bool

    fileprivate func within(_ section: String, needsRestart: Bool) -> SettingFacts {
        var facts = self
        facts.key = "\(section).\(key)"
        facts.needsRestart = needsRestart
        return facts
    }
}

extension Array {
    /// Reads a table that may have these keys into `root`, which holds the defaults; refuses any other key.
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

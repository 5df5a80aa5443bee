internal import RingwakeCore

/// The type of a setting's value: a scalar, a list, or a section with its own settings.
struct ValueType<Value: Equatable & Sendable>: Sendable {
    typealias Parse =
        @Sendable (TOMLReader, _ key: String, TOMLNode, _ former: Value?) throws(RingwakeError) -> Value

    /// Name in the documents, with the unit.
    let name: String
    /// The allowed words, or the ends of the range; empty if the name says enough.
    var accepts: [String] = []
    /// Formats a default for the documents.
    var show: @Sendable (Value) -> String = { _ in "none" }
    /// Facts about the keys of a section.
    var members: (@Sendable (Value) -> [SettingFacts])?
    /// Parses a node. Keys that a section doesn't contain keep the value of `former`.
    let parse: Parse

    /// The type of an optional value.
    var optional: ValueType<Value?> {
        ValueType<Value?>(name: name, accepts: accepts, show: { $0.map(show) ?? "none" }) {
            reader, key, node, former throws(RingwakeError) in try parse(reader, key, node, former ?? nil)
        }
    }

    /// A string that `make` converts; `expected` describes it in the error.
    static func text(
        _ name: String, _ expected: String, accepts: [String] = [],
        show: @escaping @Sendable (Value) -> String = { _ in "none" }, _ make: @escaping @Sendable (String) -> Value?
    ) -> ValueType {
        ValueType(name: name, accepts: accepts, show: show) { reader, key, node, _ throws(RingwakeError) in
            let text = try reader.text(key, node)
            guard let value = make(text) else { throw reader.invalid(key, "has to be \(expected), not '\(text)'") }
            return value
        }
    }

    /// A section. `check` checks its keys together.
    ///
    /// - Parameter blank: the initial value if there is no former value.
    static func section(
        _ settings: [Setting<Value>], blank: Value? = nil,
        check: @escaping @Sendable (inout Value, TOMLReader) throws(RingwakeError) -> Void = { _, _ in }
    ) -> ValueType {
        ValueType(name: "section", members: { value in settings.flatMap { $0.facts(value) } }) {
            reader, key, node, former throws(RingwakeError) in
            let table = try reader.table(key, node)
            guard var value = former ?? blank else { throw reader.missing(key) }
            try settings.read(table, into: &value)
            try check(&value, table)
            return value
        }
    }

    /// A repeatable section, `[[key]]`, at most `most` times.
    ///
    /// - Parameters:
    ///   - id: the key whose value must be unique.
    ///   - value: that value; nil if it may be repeated.
    ///   - check: checks the keys of one section together.
    static func sections<Element>(
        _ settings: [Setting<Element>], blank: Element, id: String, most: Int = .max,
        _ value: @escaping @Sendable (Element) -> String?,
        check: @escaping @Sendable (Element, TOMLReader) throws(RingwakeError) -> Void = { _, _ in }
    ) -> ValueType where Value == [Element] {
        ValueType(
            name: "sections",
            members: { _ in
                settings.flatMap { $0.facts(blank) }.map { facts in
                    var facts = facts
                    facts.isRepeated = true
                    return facts
                }
            }
        ) {
            reader, key, node, _ throws(RingwakeError) in
            var elements: [Element] = []
            for table in try reader.tables(key, node) {
                guard elements.count < most else {
                    throw reader.invalid(key, "appears more than \(most) times; remove some")
                }
                var element = blank
                try settings.read(table, into: &element)
                try check(element, table)
                if let own = value(element), elements.contains(where: { value($0) == own }) {
                    throw table.invalid(id, "'\(own)' appears twice; remove one of them")
                }
                elements.append(element)
            }
            return elements
        }
    }
}

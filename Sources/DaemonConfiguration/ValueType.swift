internal import RingwakeCore

/// How the value of a setting is written, and what it may be: a scalar, a list, or a section with settings of its own.
struct ValueType<Value: Equatable & Sendable>: Sendable {
    typealias Parse =
        @Sendable (TOMLReader, _ key: String, TOMLNode, _ former: Value?) throws(RingwakeError) -> Value

    /// Its name in the documents, with the unit.
    let name: String
    /// The words that it may be, or the ends of its range; empty when the type says all.
    var accepts: [String] = []
    /// As the documents write a default.
    var show: @Sendable (Value) -> String = { _ in "none" }
    /// Of a section: what is known of its keys.
    var members: (@Sendable (Value) -> [SettingFacts])?
    /// Reads a node. What a section does not say stays as in `former`, the value so far.
    let parse: Parse

    /// A value that may be absent.
    var optional: ValueType<Value?> {
        ValueType<Value?>(name: name, accepts: accepts, show: { $0.map(show) ?? "none" }) {
            reader, key, node, former throws(RingwakeError) in try parse(reader, key, node, former ?? nil)
        }
    }

    /// A text that `make` makes a value of; `expected` says what it is, for the error.
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

    /// A section; `check` looks at what its keys say together.
    ///
    /// - Parameter blank: what it is before its keys are read, where there is no value so far.
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

    /// Sections that may be there more than once, `[[key]]`, at most `most` times.
    ///
    /// - Parameters:
    ///   - id: the key whose value no two of them share.
    ///   - value: that value; nil for one that others may have too.
    static func sections<Element>(
        _ settings: [Setting<Element>], blank: Element, id: String, most: Int = .max,
        _ value: @escaping @Sendable (Element) -> String?
    ) -> ValueType where Value == [Element] {
        ValueType(name: "sections", members: { _ in settings.flatMap { $0.facts(blank) } }) {
            reader, key, node, _ throws(RingwakeError) in
            var elements: [Element] = []
            for table in try reader.tables(key, node) {
                guard elements.count < most else {
                    throw reader.invalid(key, "appears more than \(most) times; remove some")
                }
                var element = blank
                try settings.read(table, into: &element)
                if let own = value(element), elements.contains(where: { value($0) == own }) {
                    throw table.invalid(id, "'\(own)' appears twice; remove one of them")
                }
                elements.append(element)
            }
            return elements
        }
    }
}

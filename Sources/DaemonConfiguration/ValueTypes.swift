internal import Glibc
internal import HTTPServer
internal import Reachability
internal import RingwakeCore

// The types of the settings.

extension ValueType where Value == Bool {
    static let boolean = ValueType(name: "boolean", show: { "\($0)" }) { reader, key, node, _ throws(RingwakeError) in
        guard case .boolean(let value) = node.value else { throw reader.wrongType(key, node, "true or false") }
        return value
    }
}

extension ValueType where Value == Int {
    /// An integer in `range`.
    static func number(of unit: String? = nil, _ range: ClosedRange<Int>) -> ValueType {
        ValueType(
            name: unit.map { "number of \($0)" } ?? "number", accepts: ["\(range.lowerBound)", "\(range.upperBound)"],
            show: { "\($0)" }
        ) { reader, key, node, _ throws(RingwakeError) in
            guard case .integer(let value) = node.value, let number = Int(exactly: value), range.contains(number) else {
                throw reader.wrongType(key, node, "a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
    }
}

extension ValueType where Value == Duration {
    /// A duration above zero.
    static let duration = duration(
        [], "such as \"500ms\", \"5s\", \"2m\", \"4h\" or \"30d\", above zero and at most \"366d\""
    ) { $0 > .zero }

    /// A duration from zero to `most`.
    static func duration(upTo most: Duration) -> ValueType {
        let ends = ["0s", "\(most.components.seconds)s"]
        return duration(ends, "from \"\(ends[0])\" to \"\(ends[1])\", such as \"500ms\"") { $0 <= most }
    }

    /// The time between two keep-alives of an idle connection.
    static let keepAlive = duration(["5s", "1h"], "from \"5s\" to \"1h\"") { $0 >= .seconds(5) && $0 <= .seconds(3600) }

    private static func duration(
        _ ends: [String], _ expected: String, _ isAllowed: @escaping @Sendable (Duration) -> Bool
    ) -> ValueType {
        ValueType(name: "duration", accepts: ends, show: \.settingText) { reader, key, node, _ throws(RingwakeError) in
            guard case .string(let text) = node.value, let duration = Duration(settingText: text), isAllowed(duration)
            else { throw reader.wrongType(key, node, "a duration \(expected)") }
            return duration
        }
    }
}

extension ValueType where Value == String {
    static let text = text("text", "text") { $0 }
    /// A string of at least one character.
    static let name = text("text", "a text that is not empty") { $0.isEmpty ? nil : $0 }
    /// A path; a relative one is resolved against the file's directory.
    static let path = ValueType(name: "path", show: { $0 }) { reader, key, node, _ throws(RingwakeError) in
        reader.absolute(try reader.text(key, node))
    }
    static let socketPath = text("path", "the absolute path of the socket that the handler listens on") {
        $0.hasPrefix("/") ? $0 : nil
    }
    /// An interface name or pattern, at most as long as the kernel allows for a name.
    static let interface = text("text", "an interface's name of at most 15 bytes, in which '*' matches any text") {
        name in
        let isName = name.unicodeScalars.allSatisfy { $0.isASCII && $0.value > 0x20 && $0 != "/" && $0.value != 0x7F }
        return (1...15).contains(name.utf8.count) && isName ? name : nil
    }

    /// One of `words`.
    static func word(of words: [String]) -> ValueType {
        text("word", oneOf(words), accepts: words) { words.contains($0) ? $0 : nil }
    }
}

extension ValueType where Value == UInt32 {
    /// A user of this machine, by name or number. A name is looked up when the file is read.
    static let user = ValueType(name: "text", show: { "\($0)" }) { reader, key, node, _ throws(RingwakeError) in
        let text = try reader.text(key, node)
        if let number = uid_t(text), number != uid_t.max { return number }
        guard let entry = getpwnam(text) else {
            throw reader.invalid(
                key, "names the user '\(text)', whom this machine does not know; give a name or a number")
        }
        return entry.pointee.pw_uid
    }
}

/// `one of 'a', 'b'`
private func oneOf(_ words: [String]) -> String {
    "one of " + words.map { "'\($0)'" }.joined(separator: ", ")
}

extension ValueType where Value: CaseIterable & RawRepresentable<String> {
    /// One of the enum's words.
    static var word: ValueType {
        let words = Value.allCases.map(\.rawValue)
        return text("word", oneOf(words), accepts: words, show: \.rawValue) { Value(rawValue: $0) }
    }
}

extension ValueType where Value == SocketAddress {
    static let address = text("`address:port`", "an address and a port, such as \"127.0.0.1:2197\"") {
        try? SocketAddress(parsing: $0)
    }
}

extension ValueType where Value == SenderAddress {
    static let sender = text("`host:port`", SenderAddress.form, show: \.description) { SenderAddress($0) }
}

extension ValueType where Value == WebhookURL {
    static let webhook = text("URL", WebhookURL.form) { WebhookURL($0) }
}

extension ValueType where Value == CallLimit {
    static let limit = text("calls/time", "a number of calls and a time, such as \"30/1h\"") { CallLimit($0) }
}

extension ValueType {
    /// An array of strings. `make` converts each; duplicates count once. `expected` ends the error message for an
    /// invalid one.
    static func list<Element: Equatable>(
        _ name: String, _ expected: String = "", accepts: [String] = [], upTo most: Int = .max,
        _ make: @escaping @Sendable (TOMLReader, String) -> Element?
    ) -> ValueType where Value == [Element] {
        ValueType(name: name, accepts: accepts) { reader, key, node, _ throws(RingwakeError) in
            let texts = try reader.texts(key, node)
            guard texts.count <= most else {
                throw reader.invalid(key, "has \(texts.count) entries; there may be at most \(most)")
            }
            var elements: [Element] = []
            for text in texts {
                guard let element = make(reader, text) else { throw reader.invalid(key, "has '\(text)'\(expected)") }
                if !elements.contains(element) { elements.append(element) }
            }
            return elements
        }
    }
}

extension ValueType where Value == [String] {
    static let texts = ValueType(name: "texts") { reader, key, node, _ throws(RingwakeError) in
        try reader.texts(key, node)
    }
    static let paths = list("paths") { $0.absolute($1) }

    /// At least one string.
    static let someTexts = ValueType(name: "texts") { reader, key, node, _ throws(RingwakeError) in
        let texts = try reader.texts(key, node)
        guard !texts.isEmpty else { throw reader.invalid(key, "is empty; leave it out, or name a value") }
        return texts
    }

    /// The absolute path of a program, and its arguments.
    static func command(_ program: String) -> ValueType {
        ValueType(name: "command") { reader, key, node, _ throws(RingwakeError) in
            let words = try reader.texts(key, node)
            guard words.first?.hasPrefix("/") == true else {
                throw reader.invalid(key, "has to begin with the \(program)'s absolute path; no shell searches for it")
            }
            return words
        }
    }
}

extension ValueType where Value == [RestorationGroup] {
    static let groups = list(
        "words", "; the groups are " + RestorationGroup.allCases.map(\.rawValue).joined(separator: ", "),
        accepts: RestorationGroup.allCases.map(\.rawValue)
    ) { RestorationGroup(rawValue: $1) }
}

extension ValueType where Value == [PushEnvironment] {
    static let environments = {
        var type = list(
            "words", "; the environments are " + PushEnvironment.allCases.map(\.rawValue).joined(separator: ", "),
            accepts: PushEnvironment.allCases.map(\.rawValue)
        ) { PushEnvironment(rawValue: $1) }
        type.show = { $0.isEmpty ? "none" : $0.map(\.rawValue).joined(separator: ", ") }
        return type
    }()
}

extension ValueType where Value == [ReachabilityTarget] {
    static let targets = list("texts", ", which is not a target; \(ReachabilityTarget.forms)", upTo: 8) {
        ReachabilityTarget($1)
    }
}

extension ReachabilityTarget {
    /// The valid forms of a target, as part of a message.
    package static var forms: String {
        "give 'any', an address, 'LOCAL,REMOTE' (two addresses of one family), or a host name, without scheme "
            + "and port"
    }
}

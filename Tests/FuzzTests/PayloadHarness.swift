import FoundationEssentials

@testable import RingwakeCore

/// Payloads of pushes, and the pointers of an app's configuration that lead into them.
enum PayloadHarness {
    /// A payload, mapped as every preset maps it.
    static let payload = Harness("payload") { input in
        let isObject = isObject(input)
        // Payloads are checked before they are mapped; without the check the mapping still must not trap.
        for mapping in mappings {
            let arrival = BootInstant(nanoseconds: 1_000_000_000_000)
            let (facts, _) = mapping.facts(in: input, receivedAt: arrival, wallClock: 1_700_000_000_000)
            try check(facts, arrival)
        }
        guard isObject else { return false }
        try require(JSON(input) != nil, "Foundation refuses what we accept")
        let written = JSONWriter { json in json.add("payload", json: input) }
        let isDeep: Bool
        do throws(JSONSyntax.Defect) {
            try JSONSyntax.requireObject(written.bytes)
            isDeep = false
        } catch {
            guard case .tooDeep = error else { throw Violation(description: "a spliced payload is refused: \(error)") }
            isDeep = true
        }
        let line = written.line
        try require(line.firstIndex(of: 10) == line.count - 1 && !line.contains(13), "a payload makes lines of its own")
        try require(isDeep || PayloadHarness.isObject(line), "a line of JSON is none")
        return true
    }

    /// A pointer in the first line, the document after it.
    static let pointer = Harness("json-pointer") { input in
        let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let text = String(decoding: lines[0], as: UTF8.self)
        let document = lines.count > 1 ? Array(lines[1]) : []
        guard let pointer = try? JSONPointer(text) else { return false }
        let written = pointer.tokens.map { token in
            JSONPointer(through: String(decoding: token, as: UTF8.self)).description
        }
        try requireEqual(written.joined(), text, "a pointer changed when it was written")
        let found = PayloadScanner.find([nil, pointer], in: document)[1]
        if let found { try require(found.upperBound <= document.count, "a value is outside of the document") }
        guard isObject(document) else { return found != nil }
        if let found {
            try require(isObject(Array("{\"v\":".utf8) + document[found] + [0x7D]), "what was found is no value")
        }
        // Foundation decides otherwise which of two members of a name counts, and which names are the same.
        guard let tree = JSON(document), document.allSatisfy({ $0 < 0x80 }), !tree.hasTwins(document) else {
            return found != nil
        }
        let other = tree.value(at: pointer.tokens.map { String(decoding: $0, as: UTF8.self) }[...])
        try requireEqual(found != nil, other != nil, "the value is found only by Foundation, or only by us")
        if let found, case .string(let expected)? = other, !expected.utf8.contains(0) {
            try requireEqual(try? PayloadValue(document, found)?.text(), expected, "another text than Foundation's")
        }
        return found != nil
    }

    /// A text in a payload that we write.
    static let text = Harness("json-text") { input in
        let text = String(decoding: input, as: UTF8.self)
        let written = JSONWriter { $0.add("text", text) }.bytes
        try require(isObject(written), "a written text is no JSON")
        let place = try present(
            PayloadScanner.find([JSONPointer(through: "text")], in: written)[0], "a written text is not found")
        if text.utf8.contains(0) {
            try require((try? PayloadValue(written, place)?.text()) == nil, "a text with a zero byte is read")
        } else {
            try requireEqual(try PayloadValue(written, place)?.text(), text, "a text changed when it was written")
        }
        guard let kept = try? ShownText.kept(text) else { return false }
        try require(kept.utf8.count <= CallUpdate.maximumTextBytes, "a shown text is longer than the limit")
        try require(text.utf8.starts(with: kept.utf8), "a shown text is not the text's beginning")
        return true
    }

    private static let mappings = PayloadMapping.presetNames.compactMap(PayloadMapping.preset)

    private static func isObject(_ bytes: [UInt8]) -> Bool { (try? JSONSyntax.requireObject(bytes)) != nil }

    private static func check(_ facts: PushFacts, _ arrival: BootInstant) throws {
        if let call = facts.call {
            let sizes = 1...PayloadMapping.maximumCallBytes
            try require(sizes.contains(call.rawValue.utf8.count), "a call id has a size that is not allowed")
        }
        for text in [facts.update.caller, facts.update.callerName] {
            let size = text?.utf8.count ?? 0
            try require(size <= CallUpdate.maximumTextBytes, "a text is longer than the limit")
        }
        if let time = facts.ringTime { try require(PushFacts.ringTimes.contains(time), "a ring time is out of range") }
        if let sentAt = facts.sentAt { try require(sentAt <= arrival, "a call was sent after its arrival") }
    }
}

/// A document as Foundation reads it.
private indirect enum JSON: Decodable {
    case object([String: JSON])
    case array([JSON])
    case string(String)
    case other

    init?(_ bytes: [UInt8]) {
        guard let tree = try? JSONDecoder().decode(JSON.self, from: Data(bytes)) else { return nil }
        self = tree
    }

    init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: Name.self) {
            let pairs = try members.allKeys.map { ($0.stringValue, try members.decode(JSON.self, forKey: $0)) }
            self = .object(Dictionary(pairs) { $1 })
        } else if var elements = try? decoder.unkeyedContainer() {
            var found: [JSON] = []
            while !elements.isAtEnd { found.append(try elements.decode(JSON.self)) }
            self = .array(found)
        } else if let text = try? decoder.singleValueContainer().decode(String.self) {
            self = .string(text)
        } else {
            // Foundation refuses numbers that no Double holds.
            self = .other
        }
    }

    /// The value to which the tokens lead; null is one.
    func value(at tokens: ArraySlice<String>) -> JSON? {
        guard let token = tokens.first else { return self }
        switch self {
        case .object(let members):
            // By bytes: to Swift, one character may be written in several ways.
            let member = members.first { $0.key.utf8.elementsEqual(token.utf8) }
            return member?.value.value(at: tokens.dropFirst())
        case .array(let elements):
            guard let index = JSONPointer.index(Array(token.utf8)), index < elements.count else { return nil }
            return elements[index].value(at: tokens.dropFirst())
        case .string, .other: return nil
        }
    }

    /// Whether an object may have two members of one name: fewer members than colons outside of texts.
    func hasTwins(_ document: [UInt8]) -> Bool {
        var colons = 0
        var isText = false
        var isEscaped = false
        for byte in document {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\"): isEscaped = true
            case UInt8(ascii: "\""): isText.toggle()
            case UInt8(ascii: ":") where !isText: colons += 1
            default: break
            }
        }
        return memberCount != colons
    }

    private var memberCount: Int {
        switch self {
        case .object(let members): members.count + members.values.reduce(0) { $0 + $1.memberCount }
        case .array(let elements): elements.reduce(0) { $0 + $1.memberCount }
        case .string, .other: 0
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

internal import RingwakeCore

/// The parsed target of a control request: `/v1/calls/a%20b/answer?app=com.example.phone`.
package struct ControlPath {
    /// The path segments, percent-decoded: `["v1", "calls", "a b", "answer"]`.
    package let parts: [String]
    /// The query's parameters, percent-decoded; the first value of a repeated one.
    package let query: [String: String]
    /// All parameters of the query in order, percent-decoded, including repeated ones.
    package let items: [(name: String, value: String)]

    /// Nil if the target doesn't start with a slash, has an invalid escape, or isn't UTF-8 when decoded.
    ///
    /// See RFC 3986 § 2.1 and § 3.3.
    package init?(_ target: String) {
        let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = halves.first, path.hasPrefix("/") else { return nil }
        var parts: [String] = []
        for part in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let decoded = ControlPath.decode(part) else { return nil }
            parts.append(decoded)
        }
        var query: [String: String] = [:]
        var items: [(name: String, value: String)] = []
        for pair in (halves.count > 1 ? halves[1] : "").split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = ControlPath.decode(sides[0]),
                let value = ControlPath.decode(sides.count > 1 ? sides[1] : "")
            else { return nil }
            query[name] = query[name] ?? value
            items.append((name, value))
        }
        self.parts = parts
        self.query = query
        self.items = items
    }

    private static func decode(_ text: Substring) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let decoded = decodeHex(Array(rest.prefix(2))), let byte = decoded.first else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// Path and query of a request to the control API, percent-encoded (RFC 3986 § 2). ``ControlPath`` reads it.
package struct RequestTarget: Hashable, Sendable {
    package let text: String

    /// `/v1/`, then `segments`, then the items of `query` that have a value.
    package init(_ segments: String..., query: [(name: String, value: String?)] = []) {
        let path = segments.map { "/" + RequestTarget.encode($0) }.joined()
        let items = query.compactMap { item in item.value.map { item.name + "=" + RequestTarget.encode($0) } }
        text = "/v1" + path + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    /// All but RFC 3986's unreserved characters as `%XX`. A server would resolve a segment of one or two dots, so
    /// its first dot is encoded too.
    private static func encode(_ text: String) -> String {
        var result = ""
        for (index, byte) in text.utf8.enumerated() {
            let isStep = index == 0 && (text == "." || text == "..")
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where !isStep:
                result += "."
            default:
                let hex = String(byte, radix: 16, uppercase: true)
                result += hex.count == 1 ? "%0" + hex : "%" + hex
            }
        }
        return result
    }
}

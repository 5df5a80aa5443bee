internal import RingwakeCore

/// Path and query of a request to the control API, percent-encoded (RFC 3986 § 2). ``ControlPath`` parses it.
package struct RequestTarget: Hashable, Sendable {
    package let text: String

    /// `/v1/`, then `segments`, then the items of `query` that have a value.
    package init(_ segments: String..., query: [(name: String, value: String?)] = []) {
        let path = segments.map { "/" + RequestTarget.encode($0) }.joined()
        let items = query.compactMap { item in item.value.map { item.name + "=" + RequestTarget.encode($0) } }
        text = "/v1" + path + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    /// A server would resolve a segment of one or two dots, so its first dot is encoded too.
    private static func encode(_ text: String) -> String {
        text == "." || text == ".." ? "%2E" + text.dropFirst() : percentEncoded(text)
    }
}

/// Another gateway, as MQTT's Server Reference names it (section 4.11): a host, and a port.
package struct ServerReference: Hashable, Sendable, CustomStringConvertible {
    /// A name or a numeric address.
    package let host: String
    package let port: UInt16

    /// The port, if none is given (the IANA registry: secure-mqtt).
    package static let standardPort: UInt16 = 8883
    /// A name has 253 characters at most.
    private static let maximumHostBytes = 253

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `host`, `host:port`, `[v6]` or `[v6]:port`, the first of several that are separated by spaces.
    package init?(_ text: String) {
        guard let first = text.split(separator: " ", maxSplits: 1).first else { return nil }
        var (host, rest) = (first, first.prefix(0))
        if first.first == "[" {
            guard let end = first.firstIndex(of: "]") else { return nil }
            host = first[first.index(after: first.startIndex)..<end]
            rest = first[first.index(after: end)...]
            guard host.contains(":") else { return nil }
        } else if let colon = first.firstIndex(of: ":") {
            (host, rest) = (first[..<colon], first[colon...])
        }
        guard (1...Self.maximumHostBytes).contains(host.utf8.count), host.utf8.allSatisfy(Self.isHostByte) else {
            return nil
        }
        self.host = String(host)
        guard !rest.isEmpty else {
            port = Self.standardPort
            return
        }
        guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0 else { return nil }
        self.port = port
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: ":"):
            true
        default: false
        }
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

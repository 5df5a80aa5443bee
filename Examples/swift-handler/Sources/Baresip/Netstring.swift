/// Netstrings, `LENGTH:BYTES,`: baresip's `ctrl_tcp` sends and receives JSON in them.
///
/// See [D. J. Bernstein, Netstrings](https://cr.yp.to/proto/netstrings.txt).
struct NetstringReader {
    /// The input is not a netstring, or is too long.
    struct Malformed: Error {}

    /// The maximum length.
    static let maximumBytes = 1 << 20

    private var buffer: [UInt8] = []

    /// Adds received bytes, and returns the complete netstrings.
    mutating func read(_ bytes: some Sequence<UInt8>) throws(Malformed) -> [[UInt8]] {
        buffer += bytes
        var found: [[UInt8]] = []
        var rest = buffer[...]
        while let colon = rest.firstIndex(of: UInt8(ascii: ":")) {
            let digits = rest[..<colon]
            guard digits.count <= 7, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let length = Int(String(decoding: digits, as: UTF8.self)), length <= Self.maximumBytes
            else { throw Malformed() }
            let end = colon + 1 + length
            guard end < rest.endIndex else { break }
            guard rest[end] == UInt8(ascii: ",") else { throw Malformed() }
            found.append(Array(rest[(colon + 1)..<end]))
            rest = rest[(end + 1)...]
        }
        guard rest.contains(UInt8(ascii: ":")) || rest.count <= 7 else { throw Malformed() }
        buffer = Array(rest)
        return found
    }

    static func write(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(bytes.count):".utf8) + bytes + [UInt8(ascii: ",")]
    }
}

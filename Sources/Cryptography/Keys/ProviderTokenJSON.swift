/// The header of a provider token; other members are ignored.
struct HeaderJSON: Decodable {
    let alg: String
    let kid: String
}

/// The claims of a provider token; other members are ignored.
struct ClaimsJSON: Decodable {
    let iss: String
    let iat: NumericDate
}

/// Seconds since 1970 in each form that providers send: `1700000000` (most), `1700000000.25` (PyAPNs2,
/// pyapns-client) and `"1700000000"` (kalyke).
struct NumericDate: Decodable {
    /// Maximum digits before and after the point of a numeric string.
    private static let maximumDigits = 18

    /// Rounded down; `nil` for a number that 64 bits do not hold and for text that is no number.
    let seconds: Int64?

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let integer = try? container.decode(Int64.self) {
            seconds = integer
        } else if let number = try? container.decode(Double.self) {
            seconds = Int64(exactly: number.rounded(.down))
        } else {
            seconds = Self.seconds(ofText: try container.decode(String.self))
        }
    }

    /// Digits, with or without a fraction, and nothing else.
    static func seconds(ofText text: String) -> Int64? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        let areDigits = parts.allSatisfy { part in
            !part.isEmpty && part.count <= maximumDigits
                && part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        guard areDigits, let whole = parts.first else { return nil }
        return Int64(String(decoding: whole, as: UTF8.self))
    }
}

import ProviderAPI
import RingwakeCore
import RunLoop

@testable import HTTPServer
@testable import PushGateway

/// The header fields of a push: one `name: value` on each line.
enum ProviderHeadersHarness {
    static let headers = Harness("provider-headers", maximumBytes: 1024) { input in
        let fields = input.split(separator: UInt8(ascii: "\n")).compactMap { field($0) }
        let whole = Outcome(fields)
        try check(whole)
        let reversed = Outcome(fields.reversed())
        // Of a field that is there twice, the first counts.
        guard whole.duplicate == nil else {
            try require(reversed.duplicate != nil, "a duplicate is none from behind")
            return false
        }
        try requireEqual(reversed, whole, "the order of the fields matters")
        return whole.refusals.isEmpty
    }

    private static func field(_ line: ArraySlice<UInt8>) -> HTTPField? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let value = line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }
        return HTTPField(
            name: String(decoding: line[..<colon], as: UTF8.self).lowercased(),
            value: String(decoding: value, as: UTF8.self))
    }

    /// The reading of all fields.
    private struct Outcome: Equatable {
        var messageID: String?
        var priority: PushPriority?
        var collapseID: String?
        var topic: String?
        var type: String?
        var expirations: [VerifiedPush.Expiration?] = []
        var wantsOutcome = false
        var duplicate: String?
        var refusals: [String] = []

        init(_ fields: [HTTPField]) {
            let headers = ProviderHeaders(fields)
            do throws(Refusal) { try headers.requireNoDuplicates() } catch { duplicate = error.cause }
            wantsOutcome = headers.wantsOutcome
            messageID = read { () throws(Refusal) in
                try headers.requireMessageIDIsWellFormed()
                return headers.messageID
            }
            priority = read { () throws(Refusal) in try headers.priority() }
            collapseID = read { () throws(Refusal) in try headers.collapseID() }
            for wall in [Int64.min, -1, 0, 1_800_000_000_000, .max] {
                let expiration = read { () throws(Refusal) in
                    try headers.expiration(wallClock: wall, bootClock: BootClock.Instant(nanoseconds: 5_000_000))
                }
                expirations.append(expiration)
            }
            let named = read { () throws(Refusal) in try headers.topic() }
            topic = named?.rawValue
            type = read { () throws(Refusal) in
                try headers.pushType(for: named ?? Topic("com.example.phone.voip")).rawValue
            }
        }

        private mutating func read<Value>(_ body: () throws(Refusal) -> Value?) -> Value? {
            do throws(Refusal) { return try body() } catch { refusals.append("\(error.reason) \(error.cause)") }
            return nil
        }
    }

    private static func check(_ outcome: Outcome) throws {
        try require((outcome.collapseID?.utf8.count ?? 1) <= 64, "a collapse id is longer than APNs allows")
        try require(outcome.collapseID != "", "an empty collapse id collapses")
        try require((outcome.topic?.utf8.count ?? 1) <= 255, "a topic is longer than the limit")
        try require(
            outcome.topic?.utf8.allSatisfy { (0x21...0x7E).contains($0) } != false, "a topic is not printable")
        try require(outcome.messageID.map { MessageID.isWellFormed($0) } != false, "an id is no UUID")
        if outcome.type == "voip" { try require(outcome.topic?.hasSuffix(".voip") != false, "VoIP for another topic") }
        for refusal in outcome.refusals {
            // Refusals are logged and shown: what a sender wrote in them is cut and quoted.
            try require(refusal.utf8.count < 2048, "a refusal has \(refusal.utf8.count) bytes")
            try require(!refusal.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }, "a control character")
        }
        // A later clock leaves no more time.
        let remaining = outcome.expirations.compactMap { expiration -> BootInstant? in
            if case .at(let end) = expiration { end } else { nil }
        }
        try require(zip(remaining, remaining.dropFirst()).allSatisfy { $0 >= $1 }, "a later clock leaves more time")
    }
}

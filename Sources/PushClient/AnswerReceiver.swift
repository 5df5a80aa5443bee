import FoundationEssentials
import ProviderAPI

/// Collects the answer to a push, within limits.
final class AnswerReceiver: TransferReceiver {
    /// Maximum bytes of a body: APNs' answers have fewer than 100. A longer body ends the transfer.
    static let maximumBodyBytes = 16 * 1024
    /// Maximum bytes of a header value; longer values are ignored.
    static let maximumValueBytes = 256

    private(set) var body: [UInt8] = []
    /// Whether the receiver ended the transfer because the body was too long.
    private(set) var isTooLong = false
    private(set) var apnsID: String?
    private(set) var uniqueID: String?

    func reset() {
        body.removeAll(keepingCapacity: true)
        isTooLong = false
        apnsID = nil
        uniqueID = nil
    }

    /// Takes a piece of the body; false when it would be too long.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= AnswerReceiver.maximumBodyBytes - body.count else {
            isTooLong = true
            return false
        }
        body.append(contentsOf: bytes)
        return true
    }

    /// Takes one header line, `name: value` and CRLF.
    func takeHeader(_ bytes: UnsafeRawBufferPointer) {
        guard let field = HeaderField(bytes, maximumValueBytes: AnswerReceiver.maximumValueBytes) else { return }
        switch field.name {
        case ProviderField.id: apnsID = field.value
        case ProviderField.uniqueID: uniqueID = field.value
        default: break
        }
    }

    /// The `reason` and the `timestamp` of the body; each nil if the body isn't JSON that contains it.
    func refusal() -> (reason: String?, timestamp: Int64?) {
        let decoder = JSONDecoder()
        let data = Data(body)
        // Decode them separately: an invalid timestamp must not hide the reason.
        let reason = try? decoder.decode(ReasonBody.self, from: data)
        let timestamp = try? decoder.decode(TimestampBody.self, from: data)
        return (reason?.reason, timestamp?.timestamp)
    }

    /// The `outcome` of an accepted push; nil if the body isn't JSON that contains it.
    func outcome() -> String? {
        (try? JSONDecoder().decode(OutcomeBody.self, from: Data(body)))?.outcome
    }

    private struct OutcomeBody: Decodable { let outcome: String }
    private struct ReasonBody: Decodable { let reason: String }
    private struct TimestampBody: Decodable { let timestamp: Int64 }
}

/// One line of an answer's head.
struct HeaderField {
    /// In lower case.
    let name: String
    /// Without the space around it.
    let value: String

    /// Nil if `bytes` aren't a header field, or the value is longer than `maximumValueBytes`.
    init?(_ bytes: UnsafeRawBufferPointer, maximumValueBytes: Int) {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
        let raw = bytes[(colon + 1)...].drop(while: isSpace)
        let end = raw.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? raw.startIndex
        guard raw.startIndex <= end, end - raw.startIndex <= maximumValueBytes else { return nil }
        name = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
        value = String(decoding: raw[raw.startIndex..<end], as: UTF8.self)
    }
}

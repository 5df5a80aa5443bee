/// The input of a handler on its standard input: one JSON object, followed by the end of file. A running handler
/// fetches the same object for each push.
package enum HandlerInput {
    /// The version of the object. A handler may ignore unknown members of a higher version.
    static let schema = 1

    /// The object, with the payload byte for byte.
    /// - Parameter now: the current time. The push's age and the remaining time are sent as durations, so that the
    ///   handler's clock need not agree with the daemon's.
    package static func bytes(of request: WakeRequest, at now: BootInstant) -> [UInt8] {
        let age = max(0, request.receivedAt.duration(to: now).milliseconds)
        let left = max(0, now.duration(to: request.reportBy).milliseconds)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(request.payload.count + 512)
        bytes += #"{"schema":\#(schema),"kind":"\#(request.kind.rawValue)","app":"#.utf8
        appendString(request.app.rawValue, to: &bytes)
        bytes += #","topic":"#.utf8
        appendString(Topic.voip(of: request.app).rawValue, to: &bytes)
        bytes += #","call":"#.utf8
        appendString(request.call.rawValue, to: &bytes)
        bytes += #","attempt":\#(request.attempt),"age_ms":\#(age),"deadline_ms":\#(left),"payload":"#.utf8
        bytes += request.payload
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// Appends a JSON string. It escapes quotation mark, reverse solidus and the control characters U+0000 to U+001F,
    /// and nothing else ([RFC 8259 § 7]).
    package static func appendString(_ string: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                bytes += (digits.utf8.count == 1 ? "\\u000" : "\\u00").utf8
                bytes += digits.utf8
            default:
                bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

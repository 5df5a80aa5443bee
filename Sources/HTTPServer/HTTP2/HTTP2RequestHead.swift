import RunLoop

/// The head of one HTTP/2 request, built field by field.
nonisolated struct HTTP2RequestHead {
    var method = ""
    var path = ""
    var fields: [HTTPField] = []
    /// Size of the field list by RFC 9113 section 6.5.2, in bytes.
    private(set) var size = 0
    /// The fields exceeded the limits. Those beyond are missing.
    private(set) var isTooLarge = false
    /// When the head started to arrive.
    let begunAt: BootClock.Instant

    /// Cost of a field besides its bytes (RFC 9113 section 6.5.2).
    static let fieldOverheadBytes = 32
    /// Capacity for the fields of a typical push.
    private static let usualFields = 16

    init(begunAt: BootClock.Instant) {
        self.begunAt = begunAt
    }

    mutating func add(
        name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, maximumBytes: Int, maximumFields: Int
    ) {
        guard !isTooLarge else { return }
        size += name.count + value.count + HTTP2RequestHead.fieldOverheadBytes
        guard size <= maximumBytes, fields.count < maximumFields else {
            isTooLarge = true
            return
        }
        let value = String(decoding: value, as: UTF8.self)
        guard name.first == UInt8(ascii: ":"), name.count > 1 else {
            if fields.isEmpty {
                fields.reserveCapacity(HTTP2RequestHead.usualFields)
            }
            fields.append(HTTPField(name: String(decoding: name, as: UTF8.self), value: value))
            return
        }
        // nghttp2 accepts only the pseudo-fields of RFC 9113 section 8.3.1.
        switch name[1] {
        case UInt8(ascii: "m"): method = value
        case UInt8(ascii: "p"): path = value
        default: break
        }
    }
}

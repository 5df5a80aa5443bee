import CRingwakeNGHTTP2

/// Why a connection ends, as GOAWAY says it (RFC 9113 section 6.8).
struct GoAway {
    /// In the form of APNs' reasons.
    let reason: String
    let code: nghttp2_error_code

    /// The connection ends, but nothing is wrong.
    init(_ reason: String, _ code: nghttp2_error_code = NGHTTP2_NO_ERROR) {
        self.reason = reason
        self.code = code
    }

    /// The client has met a bound.
    init(_ bound: ConnectionBound) {
        self.init(bound.reason, NGHTTP2_ENHANCE_YOUR_CALM)
    }

    /// `{"reason":"..."}`, as Apple's servers send it.
    var debugData: [UInt8] {
        let letters = reason.utf8.filter { byte in
            let lower = byte | 0x20
            return (lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z"))
                || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"))
        }
        return Array("{\"reason\":\"".utf8) + letters + Array("\"}".utf8)
    }
}

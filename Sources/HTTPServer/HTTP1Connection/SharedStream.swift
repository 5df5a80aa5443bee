internal import FoundationEssentials
import HTTP1

/// A stream and further requests on one connection. A client asks for it with `Upgrade: ringwake-lines` (RFC 9110
/// section 7.8) at the request for the stream, and gets 101.
///
/// From then on the server sends lines: those of the stream, and a line for the answer to each further request, in the
/// order of the requests:
///
///     {"answer":200,"body":{...}}
///
/// The client sends requests as before.
enum SharedStream {
    /// The line of an answer. A body that isn't JSON is a string of base64 (RFC 4648 section 4), the member `octets`.
    static func answer(_ response: HTTPResponse) -> [UInt8] {
        var line = Array("{\"answer\":\(response.status)".utf8)
        if !response.body.isEmpty {
            if response.fields.contains(HTTPField(name: "content-type", value: "application/json")) {
                line += Array(",\"body\":".utf8) + response.body.filter { $0 != UInt8(ascii: "\n") }
            } else {
                line +=
                    Array(",\"octets\":\"".utf8) + Data(response.body).base64EncodedString().utf8 + [UInt8(ascii: "\"")]
            }
        }
        return line + Array("}\n".utf8)
    }
}

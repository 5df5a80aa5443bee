import HTTP1
import RingwakeCore

extension HTTPResponse {
    /// A refusal of the server itself, in the form of the control API's errors.
    ///
    /// - Parameter message: must not contain quotation marks, backslashes or control characters.
    static func refusal(_ code: RingwakeError.Code, _ message: String) -> HTTPResponse {
        refusal(code.httpStatus, code.slug, message)
    }

    /// The answer to bytes that aren't a valid request.
    static func refusal(_ error: HTTP1Error) -> HTTPResponse {
        refusal(error.status, "invalid-request", error.message)
    }

    private static func refusal(_ status: Int, _ error: String, _ message: String) -> HTTPResponse {
        HTTPResponse(
            status: status, fields: [HTTPField(name: "content-type", value: "application/json")],
            body: Array("{\"error\":\"\(error)\",\"message\":\"\(message)\",\"schema\":1}\n".utf8))
    }

    /// The answer as HTTP/1.1.
    func bytes(keepAlive: Bool, isHeadOnly: Bool = false) -> [UInt8] {
        HTTP1Writer.response(
            status: status, fields: fields.map(HTTP1Field.init), body: body, keepAlive: keepAlive,
            isHeadOnly: isHeadOnly)
    }
}

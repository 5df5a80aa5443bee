import HTTP1

/// A last answer, in the form of the control API's errors. The connection is closed after it.
///
/// - Parameter message: must not contain quotation marks, backslashes or control characters.
nonisolated func lastResponse(status: Int, error: String, message: String) -> [UInt8] {
    let body = "{\"error\":\"\(error)\",\"message\":\"\(message)\",\"schema\":1}\n"
    return HTTP1Writer.response(
        status: status, fields: [HTTP1Field(name: "content-type", value: "application/json")],
        body: Array(body.utf8), keepAlive: false)
}

extension HTTP1Error {
    /// The answer to bytes that aren't a valid request.
    var lastResponse: [UInt8] {
        HTTPServer.lastResponse(status: status, error: "invalid-request", message: message)
    }
}

import HTTP1

extension HTTP1Error {
    /// The answer to bytes that are no request, in the form of the control API's errors; the connection is closed
    /// after it.
    var lastResponse: [UInt8] {
        // The messages of the parser hold neither quotation marks nor backslashes nor control characters.
        let body = "{\"schema\":1,\"error\":\"invalid-request\",\"message\":\"\(message)\"}\n"
        return HTTP1Writer.response(
            status: status, fields: [HTTP1Field(name: "content-type", value: "application/json")],
            body: Array(body.utf8), keepAlive: false)
    }
}

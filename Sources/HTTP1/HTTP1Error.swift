/// Why a peer's bytes aren't an acceptable message.
package struct HTTP1Error: Error, Hashable, Sendable, CustomStringConvertible {
    /// Status of the answer to a request: 400, 408, 413, 414, 417, 431, 501 or 505. For an invalid answer it is 502.
    package let status: Int
    /// What was wrong and what to do, as one line for people.
    package let message: String

    package init(status: Int, message: String) {
        self.status = status
        self.message = message
    }

    package var description: String { "\(status) \(HTTP1Writer.reasonPhrase(status)): \(message)" }
}

/// Why a peer's bytes are not a message that we take.
package struct HTTP1Error: Error, Hashable, Sendable, CustomStringConvertible {
    /// The status to answer a request with: 400, 408, 413, 414, 417, 431, 501 or 505. For a bad answer it is 502.
    package let status: Int
    /// What was wrong and what to do, as one line for a person.
    package let message: String

    package init(status: Int, message: String) {
        self.status = status
        self.message = message
    }

    package var description: String { "\(status) \(HTTP1Writer.reasonPhrase(status)): \(message)" }
}

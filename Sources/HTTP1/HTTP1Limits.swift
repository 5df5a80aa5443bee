/// What a parser takes from its peer at most.
package struct HTTP1Limits: Hashable, Sendable {
    /// Bytes of a request line or status line, without its end; longer request lines are answered 414.
    package var maximumStartLineBytes = 8 * 1024
    /// Bytes of all field lines of a message with their ends; more are answered 431.
    package var maximumFieldBytes = 16 * 1024
    /// Fields of a message; more are answered 431.
    package var maximumFields = 64
    /// Bytes of a message's body. A longer request is answered 413; a longer answer is an error at the client.
    package var maximumBodyBytes: Int

    /// Bytes of a chunk-size line with its extensions (RFC 9112 section 7.1.1).
    static let maximumChunkLineBytes = 256
    /// Interim answers (1xx) before the final one.
    static let maximumInterimResponses = 16

    /// - Parameter maximumBodyBytes: 64 KiB when not given, as on the control socket.
    package init(maximumBodyBytes: Int = 64 * 1024) {
        self.maximumBodyBytes = maximumBodyBytes
    }
}

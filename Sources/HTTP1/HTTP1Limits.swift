/// Limits of a parser.
package struct HTTP1Limits: Hashable, Sendable {
    /// Maximum bytes of a request line or status line, without its end. A longer request line is answered with 414.
    package var maximumStartLineBytes = 8 * 1024
    /// Maximum bytes of all field lines of a message, with their ends. More are answered with 431.
    package var maximumFieldBytes = 16 * 1024
    /// Maximum fields of a message. More are answered with 431.
    package var maximumFields = 64
    /// Maximum bytes of a message's body. A longer request is answered with 413; for a client a longer answer is an
    /// error.
    package var maximumBodyBytes: Int

    /// Maximum bytes of a chunk-size line with its extensions (RFC 9112 section 7.1.1).
    static let maximumChunkLineBytes = 256
    /// Maximum interim answers (1xx) before the final one.
    static let maximumInterimResponses = 16

    /// - Parameter maximumBodyBytes: default 64 KiB, as on the control socket.
    package init(maximumBodyBytes: Int = 64 * 1024) {
        self.maximumBodyBytes = maximumBodyBytes
    }
}

/// Protocols that a connection can go on with (RFC 9110 section 7.8).
package enum HTTP1Upgrade {
    /// Of the control API: further requests go on as before, and each answer is a line of the stream that the first
    /// request began.
    package static let lines = "ringwake-lines"
}

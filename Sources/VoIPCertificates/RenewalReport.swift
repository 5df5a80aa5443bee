/// What `ringwake certs renew` did.
package struct RenewalReport: Codable, Equatable, Sendable {
    /// What became of a file.
    package enum State: String, Codable, Sendable {
        /// It was replaced.
        case renewed
        /// It is valid for long enough.
        case valid
        /// Another CA issued it, so it was left alone.
        case foreign
        /// It could not be renewed.
        case failed
    }

    /// One file of the directory.
    package struct File: Codable, Equatable, Sendable {
        package let path: String
        package let kind: DevelopmentCredentials.Kind
        package var state: State
        /// End of its validity now, RFC 3339; nil if it can't be read.
        package var notAfter: String?
        /// Whole days until then; negative after the end.
        package var daysLeft: Int64?
        /// Why it was left alone, and what to do.
        package var why: String?

        /// Whether somebody has to do something about it.
        package var needsAttention: Bool {
            state == .failed || (state == .foreign && why != nil)
        }
    }

    package let directory: String
    /// The CA's own certificate.
    package let authority: File
    /// The certificates that it issued, the server's first.
    package let files: [File]

    package var renewed: [File] { ([authority] + files).filter { $0.state == .renewed } }
}

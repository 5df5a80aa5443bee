import CRingwakeCurl
package import RingwakeCore

/// Fetches a file over HTTP or HTTPS, by libcurl, in pieces and within bounds.
///
///     let download = try Download(userAgent: "example")
///     let result = try download.fetch("https://lists.example/spam.csv", unlessStill: etag) { piece in read(piece) }
///
/// It blocks, and needs SIGPIPE ignored, as ``PushClient`` does.
package final class Download {
    /// Maximum bytes of a file, after decompression.
    package static let maximumBytes: Int64 = 256 * 1024 * 1024
    /// Maximum redirections.
    private static let maximumRedirections = 5
    /// Timeout of name look-up, connection and TLS together.
    private static let connectMilliseconds = 15_000
    /// Timeout of the whole transfer: 256 MiB at 150 kB a second.
    private static let totalMilliseconds = 30 * 60_000
    /// A transfer with fewer bytes a second, for so many seconds, has stalled.
    private static let (stallBytes, stallSeconds) = (100, 60)

    private let receiver: DownloadReceiver
    private let easy: EasyHandle

    /// The result of a fetch.
    package enum Result: Equatable, Sendable {
        /// The file still matches the validator.
        case unchanged
        /// The whole file was delivered. The validator is its ETag, else its Last-Modified, else nil.
        case fetched(validator: String?, bytes: Int64)
    }

    /// - Parameters:
    ///   - userAgent: the `user-agent` of the requests.
    ///   - caFile: CA certificates in PEM to trust instead of the system's.
    ///   - maximumBytes: maximum bytes of a file, after decompression.
    package init(
        userAgent: String, caFile: String? = nil, maximumBytes: Int64 = Download.maximumBytes
    ) throws(RingwakeError) {
        receiver = DownloadReceiver(maximumBytes: maximumBytes)
        easy = try EasyHandle(receiver: receiver)
        try easy.set(CURLOPT_USERAGENT, userAgent)
        try easy.set(CURLOPT_NOSIGNAL, 1)
        try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
        try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        try easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try easy.set(CURLOPT_FOLLOWLOCATION, 1)
        try easy.set(CURLOPT_MAXREDIRS, Download.maximumRedirections)
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, Download.connectMilliseconds)
        try easy.set(CURLOPT_TIMEOUT_MS, Download.totalMilliseconds)
        try easy.set(CURLOPT_LOW_SPEED_LIMIT, Download.stallBytes)
        try easy.set(CURLOPT_LOW_SPEED_TIME, Download.stallSeconds)
        try easy.setOffset(CURLOPT_MAXFILESIZE_LARGE, maximumBytes)
        // Accept every compression that libcurl supports. The limit counts decompressed bytes.
        try easy.set(CURLOPT_ACCEPT_ENCODING, "")
        if let caFile {
            try easy.set(CURLOPT_CAINFO, caFile)
            try easy.set(CURLOPT_CAPATH, nil as String?)
        }
    }

    /// Whether `text` is a URL that ``fetch(_:unlessStill:receive:)`` takes, rather than the name of a file.
    package static func isURL(_ text: String) -> Bool {
        scheme(of: text) != nil
    }

    /// Fetches the file at `url`.
    ///
    /// - Parameters:
    ///   - validator: of a previous fetch; the server doesn't send an unchanged file again.
    ///   - receive: called with each piece of the file. An error that it throws ends the transfer, and is thrown
    ///     here.
    /// - Throws: `unreachable`, `timedOut`, `notFound`, `notPermitted`, `limitReached` for a file that is too large,
    ///   `invalidRequest` for a URL that cannot be used. Pieces may have been delivered before.
    package func fetch(
        _ url: String, unlessStill validator: String? = nil, receive: @escaping ([UInt8]) throws(RingwakeError) -> Void
    ) throws(RingwakeError) -> Result {
        guard let scheme = Download.scheme(of: url) else {
            throw RingwakeError(.invalidRequest, "'\(url)' is no URL of http or https")
        }
        let authority = url.dropFirst(scheme.utf8.count + 3).prefix { !"/?#".contains($0) }
        guard !authority.contains("@") else {
            throw RingwakeError(
                .invalidRequest,
                "the URL holds a user or a password, which would be kept and shown with the list; fetch the file by "
                    + "other means and import that")
        }
        try easy.set(CURLOPT_URL, url)
        // An https URL must not redirect to http, where anyone on the way could replace the list.
        try easy.set(CURLOPT_REDIR_PROTOCOLS_STR, scheme == "https" ? "https" : "http,https")
        try easy.set(CURLOPT_HTTPHEADER, Download.conditions(validator))
        receiver.receive = receive
        defer { receiver.receive = nil }
        let failure = easy.perform()
        if let error = receiver.failure { throw error }
        if let failure { throw failure.error(fetching: url, maximumBytes: receiver.maximumBytes) }
        return try result(url, wasConditional: validator != nil)
    }

    private func result(_ url: String, wasConditional: Bool) throws(RingwakeError) -> Result {
        switch easy.number(CURLINFO_RESPONSE_CODE) {
        case 200:
            return .fetched(validator: receiver.etag ?? receiver.lastModified, bytes: receiver.bytes)
        case 304 where wasConditional:
            return .unchanged
        case 401, 403, 407:
            throw RingwakeError(.notPermitted, "'\(url)' is not given to everybody; fetch the file by other means")
        case 404, 410:
            throw RingwakeError(.notFound, "there is nothing at '\(url)'; check the address")
        case 429, 503:
            throw RingwakeError(.unreachable, "the server of '\(url)' is busy; try again later")
        case let status:
            throw RingwakeError(.unreachable, "the server of '\(url)' answered \(status), and no file")
        }
    }

    /// `If-None-Match` for an ETag, which is in quotes, `If-Modified-Since` for a date (RFC 9110 § 13.1).
    private static func conditions(_ validator: String?) -> [String] {
        guard let validator, !validator.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return [] }
        let isTag = validator.hasSuffix("\"")
        return [(isTag ? "If-None-Match: " : "If-Modified-Since: ") + validator]
    }

    private static func scheme(of url: String) -> String? {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        guard ["http", "https"].contains(scheme), url.dropFirst(scheme.count).hasPrefix("://") else { return nil }
        return scheme
    }
}

extension TransferFailure {
    /// The error to throw for a file that could not be fetched from `url`.
    fileprivate func error(fetching url: String, maximumBytes: Int64) -> RingwakeError {
        if code == CURLE_FILESIZE_EXCEEDED || isAnswerTooLong {
            return RingwakeError(
                .limitReached,
                "'\(url)' has more than \(maximumBytes / 1024) KiB, which no list needs; is it the right address?")
        }
        return switch code {
        case CURLE_OPERATION_TIMEDOUT:
            RingwakeError(.timedOut, "'\(url)' did not come in time (\(text)); try again later")
        case CURLE_URL_MALFORMAT:
            RingwakeError(.invalidRequest, "'\(url)' is no URL (\(text))")
        case CURLE_TOO_MANY_REDIRECTS:
            RingwakeError(.unreachable, "'\(url)' leads from one address to the next without end (\(text))")
        case CURLE_UNSUPPORTED_PROTOCOL:
            RingwakeError(
                .unreachable,
                "'\(url)' leads to an address that is not safe to follow (\(text)); import from that address itself if "
                    + "it is to be trusted")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            unreachable(url, "its name cannot be resolved; check the spelling and this machine's network")
        case CURLE_COULDNT_CONNECT:
            unreachable(url, "nothing takes the connection; check the address and this machine's network")
        case CURLE_PEER_FAILED_VERIFICATION:
            unreachable(url, "its certificate is not trusted here; name the CA that issued it with --ca FILE")
        case CURLE_SSL_CACERT_BADFILE:
            RingwakeError(.badCredential, "the CA file cannot be used (\(text)); --ca takes certificates in PEM")
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_HTTP2_STREAM:
            unreachable(url, "the connection broke before its end; try again")
        case CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR:
            unreachable(url, "what it sends cannot be unpacked; fetch the file by other means")
        default:
            unreachable(url, "it could not be fetched; check the address and this machine's network")
        }
    }

    private func unreachable(_ url: String, _ hint: String) -> RingwakeError {
        RingwakeError(.unreachable, "no list from '\(url)': \(hint) (\(text))")
    }
}

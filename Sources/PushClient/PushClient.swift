import CRingwakeCurl
package import RingwakeCore

/// A client of the APNs provider API, by libcurl over HTTP/2. One connection serves all pushes of a client.
///
///     let client = try PushClient(server: server, credential: credential, userAgent: "example", wallClock: clock)
///     let answer = try client.send(PushRequest(token: token, topic: "com.example.phone.voip", payload: payload))
///     print(answer.status, answer.reason ?? "taken")
///
/// It blocks. The program has to ignore SIGPIPE, which a write to a closed connection raises.
package final class PushClient {
    private let server: PushServer
    private let credential: ProviderCredential
    private let wallClock: () -> Int64
    private let receiver = AnswerReceiver()
    private let easy: EasyHandle
    private var tokens = ProviderTokenCache()

    /// Prepares a client; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - userAgent: the `user-agent` of each request.
    ///   - wallClock: seconds since 1970, for the time that provider tokens are issued at.
    /// - Throws: `failed` when libcurl is too old or lacks HTTP/2, `invalidRequest` for a host that is none.
    package init(
        server: PushServer, credential: ProviderCredential, userAgent: String, wallClock: @escaping () -> Int64
    ) throws(RingwakeError) {
        guard !server.host.isEmpty, server.host.utf8.allSatisfy(PushClient.isHostByte) else {
            throw RingwakeError(
                .invalidRequest, "'\(server.host)' is no host name; give a name or an address without port and path")
        }
        self.server = server
        self.credential = credential
        self.wallClock = wallClock
        easy = try EasyHandle(receiver: receiver)
        try easy.set(CURLOPT_USERAGENT, userAgent)
        try configureConnection()
        try configureCredential()
    }

    /// Sends one push and waits for its answer, over the previous push's connection if that is still open.
    ///
    /// - Throws: `unreachable`, `timedOut`, `badCredential` or `invalidRequest`. A refusal is an answer, no error.
    package func send(_ request: PushRequest) throws(RingwakeError) -> PushAnswer {
        let authorization: String?
        if case .token(let key, let keyID, let teamID) = credential {
            authorization = "bearer " + (try tokens.token(key: key, keyID: keyID, teamID: teamID, at: wallClock()))
        } else {
            authorization = nil
        }
        try easy.set(CURLOPT_URL, "https://" + server.authority + request.path)
        try easy.set(
            CURLOPT_HTTPHEADER, request.headerLines(authorization: authorization, asksForOutcome: !server.isApples))
        try easy.setBody(request.payload)
        if let failure = easy.perform() {
            throw failure.error(to: server)
        }
        return try answer()
    }

    private func configureConnection() throws(RingwakeError) {
        try easy.set(CURLOPT_POST, 1)
        // Timeouts by poll, not by SIGALRM.
        try easy.set(CURLOPT_NOSIGNAL, 1)
        try easy.set(CURLOPT_PROTOCOLS_STR, "https")
        try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        try easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, PushClient.milliseconds(server.connectTimeout))
        try easy.set(CURLOPT_TIMEOUT_MS, PushClient.milliseconds(server.timeout))
        if let caFile = server.caFile {
            try easy.set(CURLOPT_CAINFO, caFile)
            // Trust only that file: by default, libcurl also trusts the system's directory of CAs.
            try easy.set(CURLOPT_CAPATH, nil as String?)
        }
        if let connectTo = server.connectTo {
            try easy.set(CURLOPT_CONNECT_TO, [connectTo.text])
        }
        if server.isLoopback || server.connectTo != nil {
            // Ignore https_proxy.
            try easy.set(CURLOPT_PROXY, "")
        }
    }

    private func configureCredential() throws(RingwakeError) {
        switch credential {
        case .none, .token:
            break
        case .certificate(let chainPEM, let keyPEM, let password):
            try easy.set(CURLOPT_SSLCERTTYPE, "PEM")
            try easy.setBlob(CURLOPT_SSLCERT_BLOB, chainPEM)
            try easy.set(CURLOPT_SSLKEYTYPE, "PEM")
            try easy.setBlob(CURLOPT_SSLKEY_BLOB, keyPEM)
            // Set an empty password: without one, OpenSSL would ask for it at the terminal.
            try easy.set(CURLOPT_KEYPASSWD, password ?? "")
        }
    }

    private func answer() throws(RingwakeError) -> PushAnswer {
        guard easy.number(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) else {
            throw RingwakeError(
                .unreachable,
                "\(server.authority) answered in HTTP/1, and pushes go over HTTP/2 alone; it is no push service: "
                    + "check --host and --port")
        }
        let status = easy.number(CURLINFO_RESPONSE_CODE)
        let (reason, timestamp) = status == 200 ? (nil, nil) : receiver.refusal()
        return PushAnswer(
            status: status, apnsID: receiver.apnsID, uniqueID: receiver.uniqueID,
            outcome: status == 200 ? receiver.outcome() : nil, reason: reason,
            timestamp: timestamp, httpVersion: "2", timings: timings())
    }

    private func timings() -> PushTimings {
        PushTimings(
            dnsUs: easy.microseconds(CURLINFO_NAMELOOKUP_TIME_T),
            connectUs: easy.microseconds(CURLINFO_CONNECT_TIME_T), tlsUs: easy.microseconds(CURLINFO_APPCONNECT_TIME_T),
            sentUs: easy.microseconds(CURLINFO_PRETRANSFER_TIME_T),
            answerUs: easy.microseconds(CURLINFO_STARTTRANSFER_TIME_T),
            totalUs: easy.microseconds(CURLINFO_TOTAL_TIME_T),
            reusedConnection: easy.number(CURLINFO_NUM_CONNECTS) == 0)
    }

    /// At least 1, because 0 means no limit to libcurl; at most 31 bits, the range of its options on some machines.
    private static func milliseconds(_ duration: Duration) -> Int {
        Int(min(max(duration.milliseconds, 1), Int64(Int32.max)))
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte.isNameByte || ":[]".utf8.contains(byte) || byte >= 0x80
    }
}

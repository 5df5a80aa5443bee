import CRingwakeCurl
import RingwakeCore
import RunLoop

/// The thread of a ``Poster``: libcurl's multi interface, which is there while requests are on their way and for a minute
/// after the last.
final class PostThread {
    /// How long connections are kept open after the last request.
    private static let idleMilliseconds: Int32 = 60_000
    /// Connections that are kept open at most.
    private static let maximumIdleConnections = 16
    /// A wait ends after this time at the latest. libcurl ends it earlier for each of its deadlines.
    private static let waitMilliseconds: Int32 = 60_000

    private struct Transfer {
        let id: UInt64
        let easy: EasyHandle
        let receiver: PostReceiver
    }

    private let curl: CurlLibrary
    private let mailbox: PostMailbox
    private let userAgent: String
    private var multi: UnsafeMutableRawPointer?
    /// By the address of the handle.
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]

    init(curl: CurlLibrary, mailbox: PostMailbox, userAgent: String) {
        self.curl = curl
        self.mailbox = mailbox
        self.userAgent = userAgent
    }

    /// Works until the poster is closed.
    func run() {
        while true {
            let work = mailbox.take()
            if work.isClosed { break }
            for post in work.posts { begin(post) }
            guard let multi, !transfers.isEmpty else {
                if !mailbox.workBell.wait(milliseconds: multi == nil ? -1 : Self.idleMilliseconds) { closeMulti() }
                continue
            }
            var running: Int32 = 0
            guard curl.functions.multi_perform(multi, &running) == CURLM_OK else {
                for transfer in transfers.values { mailbox.report(transfer.id, .failed("libcurl failed")) }
                closeMulti()
                continue
            }
            finishEnded(multi)
            if !transfers.isEmpty {
                ringwake_curl_wait(curl.pointer, multi, mailbox.workBell.number, Self.waitMilliseconds)
            }
        }
        closeMulti()
    }

    private func begin(_ post: Poster.Post) {
        do throws(RingwakeError) {
            let multi = try openMulti()
            let receiver = PostReceiver()
            let easy = try EasyHandle(receiver: receiver)
            try configure(easy, post)
            easy.prepare()
            guard curl.functions.multi_add_handle(multi, easy.handle) == CURLM_OK else {
                throw RingwakeError(.failed, "libcurl takes no more requests")
            }
            transfers[easy.handle] = Transfer(id: post.id, easy: easy, receiver: receiver)
        } catch {
            mailbox.report(post.id, .failed(error.message))
        }
    }

    private func configure(_ easy: EasyHandle, _ post: Poster.Post) throws(RingwakeError) {
        try easy.set(CURLOPT_URL, post.url)
        try easy.set(CURLOPT_USERAGENT, userAgent)
        try easy.set(CURLOPT_POST, 1)
        try easy.set(CURLOPT_NOSIGNAL, 1)
        try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
        try easy.set(CURLOPT_FOLLOWLOCATION, 0)
        try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        try easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(Poster.connectTimeout.milliseconds))
        try easy.set(CURLOPT_TIMEOUT_MS, Int(Poster.timeout.milliseconds))
        // Without it, libcurl joins the thread of a name look-up that has timed out, and all other requests wait.
        try easy.set(CURLOPT_QUICK_EXIT, 1)
        if let caFile = post.caFile {
            try easy.set(CURLOPT_CAINFO, caFile)
            try easy.set(CURLOPT_CAPATH, nil as String?)
        }
        if post.isLocal { try easy.set(CURLOPT_PROXY, "") }
        // No "Expect: 100-continue", which costs a second when the server doesn't know it.
        try easy.set(CURLOPT_HTTPHEADER, post.headers + ["Expect:"])
        try easy.setBody(post.body)
    }

    private func finishEnded(_ multi: UnsafeMutableRawPointer) {
        var code = CURLE_OK
        while let handle = ringwake_curl_next_ended(curl.pointer, multi, &code) {
            _ = curl.functions.multi_remove_handle(multi, handle)
            guard let transfer = transfers.removeValue(forKey: handle) else { continue }
            mailbox.report(transfer.id, result(of: transfer, code))
        }
    }

    private func result(of transfer: Transfer, _ code: CURLcode) -> Poster.Result {
        let status = transfer.easy.number(CURLINFO_RESPONSE_CODE)
        guard let failure = transfer.easy.failure(code) else {
            return .answered(status: status, retryAfter: transfer.receiver.retryAfter)
        }
        // The status was there before the part of the body that nobody reads.
        guard failure.isAnswerTooLong, status != 0 else { return .failed(failure.text) }
        return .answered(status: status, retryAfter: transfer.receiver.retryAfter)
    }

    private func openMulti() throws(RingwakeError) -> UnsafeMutableRawPointer {
        if let multi { return multi }
        guard let new = curl.functions.multi_init() else {
            throw RingwakeError(.failed, "libcurl could not be started")
        }
        _ = ringwake_curl_multi_set_long(curl.pointer, new, CURLMOPT_MAXCONNECTS, Self.maximumIdleConnections)
        multi = new
        return new
    }

    /// Closes all connections.
    private func closeMulti() {
        guard let multi else { return }
        for handle in transfers.keys { _ = curl.functions.multi_remove_handle(multi, handle) }
        transfers = [:]
        _ = curl.functions.multi_cleanup(multi)
        self.multi = nil
    }
}

/// Takes an answer of which only the head counts.
final class PostReceiver: TransferReceiver {
    private static let maximumValueBytes = 64
    private var bytes = 0
    private(set) var isTooLong = false
    /// The seconds of `retry-after`; nil if it is a date, or absent.
    private(set) var retryAfter: Int?

    func reset() {}

    func takeBody(_ piece: UnsafeRawBufferPointer) -> Bool {
        bytes += piece.count
        isTooLong = bytes > Poster.maximumAnswerBytes
        return !isTooLong
    }

    func takeHeader(_ line: UnsafeRawBufferPointer) {
        guard let field = HeaderField(line, maximumValueBytes: Self.maximumValueBytes), field.name == "retry-after"
        else { return }
        retryAfter = Int(field.value)
    }
}

package import RingwakeCore
internal import RunLoop
internal import Synchronization

/// Sends POSTs by libcurl, many at a time, on a thread of its own: libcurl blocks while it reads CAs, and its name look-up
/// may.
///
///     let poster = try Poster(userAgent: "example")
///     poster.post(Post(id: 1, url: url, headers: [], body: body))
///     // when poster.descriptor is readable:
///     for (id, result) in poster.takeResults() { … }
///
/// It follows no redirection, and reads ``maximumAnswerBytes`` of an answer at most. The program has to ignore SIGPIPE.
package final class Poster: Sendable {
    /// A request.
    package struct Post: Sendable {
        /// Comes back with the result.
        package let id: UInt64
        package let url: String
        /// Header lines, `name: value`.
        package let headers: [String]
        package let body: [UInt8]
        /// A file of CA certificates in PEM to trust instead of the system's.
        package let caFile: String?
        /// Whether to leave out the proxy of the environment.
        package let isLocal: Bool

        package init(
            id: UInt64, url: String, headers: [String], body: [UInt8], caFile: String? = nil, isLocal: Bool = false
        ) {
            self.id = id
            self.url = url
            self.headers = headers
            self.body = body
            self.caFile = caFile
            self.isLocal = isLocal
        }
    }

    /// What became of a request.
    package enum Result: Equatable, Sendable {
        /// The server's status, and the seconds of its `retry-after`.
        case answered(status: Int, retryAfter: Int?)
        /// No answer; why, in words.
        case failed(String)
    }

    /// Bytes of an answer's body at most; the rest is not read.
    package static let maximumAnswerBytes = 16 * 1024
    /// Timeout of name look-up, connection and TLS together.
    package static let connectTimeout = Duration.seconds(10)
    /// Timeout of a request, including its connection.
    package static let timeout = Duration.seconds(20)

    private let mailbox: PostMailbox
    private let thread: WorkerThread

    /// Loads libcurl and starts the thread.
    ///
    /// - Throws: `failed` without libcurl, `system` without a descriptor or a thread.
    package init(userAgent: String) throws(RingwakeError) {
        let curl = try CurlLibrary.loaded.get()
        do throws(RunLoopError) {
            let mailbox = try PostMailbox()
            self.mailbox = mailbox
            thread = try WorkerThread(name: "webhooks") {
                PostThread(curl: curl, mailbox: mailbox, userAgent: userAgent).run()
            }
        } catch {
            throw RingwakeError(.system, "no thread for webhooks: \(error); raise the limit on tasks or descriptors")
        }
    }

    /// Becomes readable when there are results.
    package var descriptor: Int32 { mailbox.resultBell.number }

    /// Sends a request. Its result comes later, once.
    package func post(_ post: Post) {
        mailbox.work.withLock { $0.posts.append(post) }
        mailbox.workBell.ring()
    }

    /// The results since the last call.
    package func takeResults() -> [(id: UInt64, result: Result)] {
        mailbox.resultBell.hear()
        return mailbox.results.withLock { results in
            defer { results = [] }
            return results
        }
    }

    /// Ends the thread. Requests that are on their way end without a result.
    package func close() {
        mailbox.work.withLock { $0.isClosed = true }
        mailbox.workBell.ring()
        thread.join()
    }
}

/// What a ``Poster`` and its thread share. The caller bounds it by the number of requests that it has on their way.
final class PostMailbox: Sendable {
    struct Work {
        var posts: [Poster.Post] = []
        var isClosed = false
    }

    let work = Mutex(Work())
    let results = Mutex<[(id: UInt64, result: Poster.Result)]>([])
    let workBell: EventDescriptor
    let resultBell: EventDescriptor

    init() throws(RunLoopError) {
        workBell = try EventDescriptor(nonblocking: true)
        resultBell = try EventDescriptor(nonblocking: true)
    }

    func take() -> Work {
        workBell.hear()
        return work.withLock { work in
            defer { work.posts = [] }
            return work
        }
    }

    func report(_ id: UInt64, _ result: Poster.Result) {
        results.withLock { $0.append((id, result)) }
        resultBell.ring()
    }
}

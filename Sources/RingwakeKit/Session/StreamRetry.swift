/// How long a client waits until it opens a stream again.
struct StreamRetry: Sendable {
    private let first: Duration
    private let longest: Duration
    /// Consecutive streams that failed to open, or broke soon.
    private var failures = 0

    init(_ configuration: RingwakeClient.Configuration) {
        first = configuration.firstRetry
        longest = configuration.lastRetry
    }

    /// The delay after a stream that has ended. It doubles with each failure.
    ///
    /// - Parameters:
    ///   - lasted: how long the stream was open; zero if it never was.
    ///   - limit: the longest delay, if it must be shorter than usual.
    mutating func delay(after lasted: Duration, atMost limit: Duration? = nil) -> Duration {
        // Only a long stream resets the delay, so that streams that break soon don't keep both processes busy.
        if lasted > .zero, lasted >= longest { failures = 0 }
        let delay = min(longest, limit ?? longest, first * (1 << min(failures, 16)))
        failures += 1
        return delay
    }
}

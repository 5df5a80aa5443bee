/// A rate for the work that all strangers cause together: a bucket of tokens that fills at a constant rate.
///
/// What finds no token waits in a queue, first come, first served. There is a timer only while something waits.
package final class Pace {
    private let runLoop: RunLoop
    /// Nanoseconds for a token.
    private let interval: Int64
    private let burst: Int64
    private var tokens: Int64
    /// When `tokens` was right.
    private var filledAt: BootClock.Instant
    private var waiting: [() -> Void] = []
    private var timer: Timer?

    /// With this many tokens together the loop wakes up for what waits.
    private static let tokensPerWakeup = 10

    /// - Parameters:
    ///   - perSecond: tokens per second, at least 1.
    ///   - burst: tokens of a full bucket.
    package init(runLoop: RunLoop, perSecond: Int, burst: Int) {
        self.runLoop = runLoop
        interval = 1_000_000_000 / Int64(max(1, perSecond))
        self.burst = Int64(max(1, burst))
        tokens = self.burst
        filledAt = runLoop.now
    }

    /// Takes a token. Returns false if there is none, or others wait for one.
    package func take() -> Bool { waiting.isEmpty && takeOne() }

    /// Calls `body` when it has a token: at once, or later. Callers bound how many wait.
    package func whenThere(_ body: @escaping () -> Void) {
        if take() { return body() }
        waiting.append(body)
        wakeLater()
    }

    private func takeOne() -> Bool {
        fill()
        guard tokens > 0 else { return false }
        tokens -= 1
        return true
    }

    private func fill() {
        let gained = max(0, runLoop.now.nanoseconds &- filledAt.nanoseconds) / interval
        // A full bucket forgets how long it has been full.
        let isFull = gained >= burst - tokens
        tokens = isFull ? burst : tokens + gained
        filledAt = isFull ? runLoop.now : BootClock.Instant(nanoseconds: filledAt.nanoseconds + gained * interval)
    }

    private func wakeLater() {
        guard timer == nil, !waiting.isEmpty else { return }
        let next = filledAt.advanced(by: .nanoseconds(interval))
        timer = runLoop.schedule(
            at: next, tolerance: .nanoseconds(interval) * Pace.tokensPerWakeup, wakingFromSuspend: false
        ) { [weak self] in self?.resume() }
    }

    private func resume() {
        timer = nil
        while !waiting.isEmpty, takeOne() {
            let body = waiting.removeFirst()
            body()
        }
        wakeLater()
    }
}

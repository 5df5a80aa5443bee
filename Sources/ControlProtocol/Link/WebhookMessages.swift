/// The body of a webhook's request: receipts of one team's pushes.
package struct WebhookBodyMessage: Codable, Equatable, Sendable {
    /// Standard Webhooks, "Payload structure".
    package var type = "push.receipts"
    /// When it was made: ``UTCTime`` as text. Of two receipts of a push, the later one's counts.
    package var timestamp: String
    package var data: Receipts

    package struct Receipts: Codable, Equatable, Sendable {
        package var receipts: [PushReceiptMessage]
    }

    package init(_ receipts: [PushReceiptMessage], at timestamp: String) {
        self.timestamp = timestamp
        data = Receipts(receipts: receipts)
    }
}

/// How a team's webhook does, since the start of the daemon.
package struct WebhookStatusMessage: Codable, Equatable, Sendable {
    package var team: String
    package var url: String
    /// Receipts that wait, or are on their way.
    package var waiting: Int
    /// Receipts that the server has taken.
    package var delivered: UInt64
    /// Requests that failed.
    package var failed: UInt64
    /// Receipts that were given up: too many waited, or they were too old.
    package var dropped: UInt64
    /// Why the last request failed; nil if it didn't.
    package var problem: String?
    /// When the request is repeated.
    package var retryInMs: Int64?

    package init(
        team: String, url: String, waiting: Int, delivered: UInt64, failed: UInt64, dropped: UInt64, problem: String?,
        retryInMs: Int64?
    ) {
        self.team = team
        self.url = url
        self.waiting = waiting
        self.delivered = delivered
        self.failed = failed
        self.dropped = dropped
        self.problem = problem
        self.retryInMs = retryInMs
    }
}

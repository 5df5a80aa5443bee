package import HTTPServer
package import RingwakeCore

/// A sender's request with its answer, for people who test senders.
package nonisolated struct WatchedRequest: Sendable {
    /// When its head arrived, in ms since 1970.
    package let at: Int64
    /// The sender's address and port.
    package let peer: String
    package let environment: PushEnvironment
    /// The sender's team, as far as it is known. It may be a claim only.
    package let team: String?
    /// The app that the device token belongs to; nil if the request was refused before that was known.
    package let app: AppID?
    /// The request as it came. Without a body if it was refused by its head.
    package let request: HTTPRequest
    /// The push's ID in the answer.
    package let pushID: String
    /// The status of the answer; nil if there is none.
    package let status: Int?
    /// Why the push was refused, in APNs' words; nil if it wasn't.
    package let reason: String?
    /// The exact cause of the refusal, for people.
    package let cause: String?
    /// What ``PushFaults`` did to it; nil: nothing.
    package let fault: PushFault.Kind?
}

/// Who watches the requests of senders. Nothing is collected while nobody does.
package struct RequestWatch {
    package let isWatched: () -> Bool
    package let report: (WatchedRequest) -> Void

    package init(isWatched: @escaping () -> Bool, report: @escaping (WatchedRequest) -> Void) {
        self.isWatched = isWatched
        self.report = report
    }
}

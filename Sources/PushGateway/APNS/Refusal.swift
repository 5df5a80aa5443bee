import ProviderAPI
import RingwakeCore

/// A push that is not taken: the sender's answer, and what only the log shows.
nonisolated struct Refusal: Error, Equatable {
    /// The answer, in APNs' words.
    let reason: RejectionReason
    /// What exactly was wrong, for the log. Holds no token; text of the sender's passed through ``quoted(_:)``.
    let cause: String
    /// Since when a token is unregistered, in ms since 1970. With 410 only.
    let timestamp: Int64?

    init(_ reason: RejectionReason, _ cause: String, timestamp: Int64? = nil) {
        self.reason = reason
        self.cause = cause
        self.timestamp = timestamp
    }
}

extension RejectionReason {
    /// The answer to a push that passed all checks, and that the device did not take.
    nonisolated init(_ refusal: PushRefusal) {
        switch refusal {
        case .tooManyCalls: self = .tooManyRequests
        case .unavailable: self = .serviceUnavailable
        }
    }
}

/// The most bytes of a sender's text that are shown in the log.
private nonisolated let maximumQuotedBytes = 80

/// A sender's text in quotes, fit for a log line: cut, and with `?` for each byte that is not printable ASCII.
nonisolated func quoted(_ text: String) -> String {
    let shown = text.utf8.prefix(maximumQuotedBytes).map { byte in
        (0x20...0x7E).contains(byte) ? byte : UInt8(ascii: "?")
    }
    let ending = text.utf8.count > maximumQuotedBytes ? "…" : ""
    return "'\(String(decoding: shown, as: UTF8.self))\(ending)'"
}

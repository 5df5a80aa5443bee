import ProviderAPI
import RingwakeCore

/// Why a push was refused: the answer to the sender, and the cause for the log.
nonisolated struct Refusal: Error, Equatable {
    /// The answer, in APNs' words.
    let reason: RejectionReason
    /// The exact cause, for the log. It contains no token; the sender's text has passed through ``quoted(_:)``.
    let cause: String
    /// When the token was unregistered or expired, in ms since 1970; only with 410.
    let timestamp: Int64?

    init(_ reason: RejectionReason, _ cause: String, timestamp: Int64? = nil) {
        self.reason = reason
        self.cause = cause
        self.timestamp = timestamp
    }
}

extension Refusal {
    /// The push passed all checks, but the device couldn't accept it: with the bound that was reached.
    init(_ refusal: PushRefusal, of app: AppID) {
        let limits = CoordinatorStateMachine.Limits()
        let why =
            switch refusal {
            case .tooManyCalls:
                "\(limits.activeCallsOfAnApp) calls or handlers of \(app) are active, or \(limits.activeCalls) of all "
                    + "apps"
            case .tooManyPushes:
                "its device token has started \(limits.startsAtOnce) calls of \(app) and gets one more each "
                    + "\(limits.startInterval.milliseconds) ms"
            case .mailboxFull:
                "as many pushes wait for the linked device as may, of all its apps or of \(app), or they come too fast"
            case .unavailable: "\(app) is gone, or the journal cannot store the push now"
            case .unregistered: "the linked device has no such registration any more"
            }
        self.init(RejectionReason(refusal), "the push passed every check, but \(why)")
    }
}

extension RejectionReason {
    /// The answer if the push passed all checks but the device couldn't accept it.
    nonisolated init(_ refusal: PushRefusal) {
        switch refusal {
        case .tooManyCalls, .tooManyPushes, .mailboxFull: self = .tooManyRequests
        case .unavailable: self = .serviceUnavailable
        case .unregistered: self = .unregistered
        }
    }
}

/// Maximum bytes of a sender's text in the log.
private nonisolated let maximumQuotedBytes = 80

/// A sender's text in quotes, safe for a log line: cut, with `?` for each byte that isn't printable ASCII.
nonisolated func quoted(_ text: String) -> String {
    let shown = text.utf8.prefix(maximumQuotedBytes).map { byte in
        (0x20...0x7E).contains(byte) ? byte : UInt8(ascii: "?")
    }
    let ending = text.utf8.count > maximumQuotedBytes ? "…" : ""
    return "'\(String(decoding: shown, as: UTF8.self))\(ending)'"
}

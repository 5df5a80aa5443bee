import CRingwakeOpenSSL
import RingwakeCore

/// OpenSSL's error queue of this thread.
///
/// Each entry point clears it before its work, and drains it if the work fails, so that no reason of one operation
/// appears in the message of another.
enum OpenSSLErrors {
    /// Maximum reasons in a message; OpenSSL itself keeps at most 16.
    private static let maximumReasons = 3

    /// One reason of the queue.
    struct Reason: Equatable {
        /// The part of OpenSSL that failed (`ERR_LIB_...`).
        let library: Int32
        /// The number of the reason within the library.
        let number: Int32
        /// The reason in words.
        let text: String
    }

    /// Empties the queue.
    static func clear() {
        ERR_clear_error()
    }

    /// Empties the queue and returns what was in it, the first failure first.
    static func drain() -> [Reason] {
        var reasons: [Reason] = []
        while case let code = ERR_get_error(), code != 0 {
            let text: String
            if let words = ERR_reason_error_string(code) {
                text = String(cString: words)
            } else {
                text = "error \(String(code, radix: 16))"
            }
            reasons.append(Reason(library: ERR_GET_LIB(code), number: ERR_GET_REASON(code), text: text))
        }
        return reasons
    }

    /// The reasons as one clause for a message; `fallback` when OpenSSL gave none.
    static func text(of reasons: [Reason], fallback: String = "OpenSSL gives no reason") -> String {
        var texts: [String] = []
        for reason in reasons where !texts.contains(reason.text) {
            texts.append(reason.text)
        }
        return texts.isEmpty ? fallback : texts.prefix(maximumReasons).joined(separator: ", ")
    }

    /// Drains the queue into one clause for a message.
    static func drainText(fallback: String = "OpenSSL gives no reason") -> String {
        text(of: drain(), fallback: fallback)
    }
}

extension RingwakeError {
    /// A failed OpenSSL call that fails only without memory or with a broken installation of OpenSSL.
    static func openSSL(_ operation: String) -> RingwakeError {
        RingwakeError(
            .failed,
            "OpenSSL could not \(operation): \(OpenSSLErrors.drainText()); check memory and the installed libssl3.")
    }
}

/// What a payload holds where its app's mapping points, and what cannot be the fact that is looked for there.
///
/// The fact counts as unknown then. Holds nothing of the payload, so that it may be logged.
package struct PayloadProblem: Hashable, Sendable, CustomStringConvertible {
    package let fact: Fact
    package let reason: Reason

    package init(_ fact: Fact, _ reason: Reason) {
        self.fact = fact
        self.reason = reason
    }

    /// The facts that a mapping points at, by their names in an app's file.
    package enum Fact: String, Sendable, CaseIterable {
        case call
        case caller
        case callerName = "caller_name"
        case video
        case cancel
        case sentAt = "sent_at"
        case ringTime = "ring_time"
    }

    /// Why a value cannot be the fact.
    package enum Reason: String, Error, Sendable, CaseIterable {
        /// An object, an array, or a kind of value that says nothing of this fact.
        case wrongKind
        /// A call id without a byte in it.
        case empty
        /// A call id of more than ``PayloadMapping/maximumCallBytes`` bytes.
        case tooLong
        /// A zero byte in a text.
        case zeroByte
        /// Not a date, or one before 1970.
        case notATime
        /// A ring time below zero, or one that is no number.
        case notADuration

        fileprivate var text: String {
            switch self {
            case .wrongKind: "is not of a kind that can say it"
            case .empty: "is empty"
            case .tooLong: "has more than \(PayloadMapping.maximumCallBytes) bytes"
            case .zeroByte: "holds a zero byte"
            case .notATime: "is not a time"
            case .notADuration: "is not a number of seconds"
            }
        }
    }

    package var description: String { "\(fact.rawValue) \(reason.text)" }
}

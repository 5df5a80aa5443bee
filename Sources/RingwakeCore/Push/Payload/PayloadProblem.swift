/// A value in a payload that is at the mapped position and cannot be the fact.
///
/// The fact then counts as unknown. This contains no data of the payload, so that it may be logged.
package struct PayloadProblem: Hashable, Sendable, CustomStringConvertible {
    package let fact: Fact
    package let reason: Reason

    package init(_ fact: Fact, _ reason: Reason) {
        self.fact = fact
        self.reason = reason
    }

    /// The facts of a mapping, by their names in an app's configuration file.
    package enum Fact: String, Sendable, CaseIterable {
        case call
        case caller
        case callerName = "caller_name"
        case video
        case cancel
        case sentAt = "sent_at"
        case age
        case ringTime = "ring_time"
    }

    /// Why a value cannot be the fact.
    package enum Reason: String, Error, Sendable, CaseIterable {
        /// An object, an array, or a value of a kind that this fact cannot have.
        case wrongKind
        /// An empty call id.
        case empty
        /// A call id of more than ``PayloadMapping/maximumCallBytes`` bytes.
        case tooLong
        /// A zero byte in a text.
        case zeroByte
        /// Not a date, or one before 1970.
        case notATime
        /// An age or a ring time that is negative or not a number.
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

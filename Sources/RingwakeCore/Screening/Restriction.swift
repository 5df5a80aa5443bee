/// Why a call was kept from ringing.
package struct Restriction: Hashable, Sendable {
    /// The rule.
    package let kind: Kind
    /// The details for a person.
    package let detail: String

    package init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }

    package enum Kind: String, Sendable, Codable, CaseIterable {
        /// Do not disturb, by schedule or command.
        case doNotDisturb
        /// The caller is on a block list.
        case blocked
        /// The app's limit of calls within its time window is reached.
        case appLimit
        /// The caller's limit of calls within its time window is reached.
        case callerLimit
        /// The app's level is higher than this device allows.
        case level
    }

    /// The end reason of the call.
    package var endReason: CallEndReason { kind == .blocked ? .blocked : .restricted }
}

/// Why a call was kept out.
package struct Restriction: Error, Hashable, Sendable {
    /// Which rule kept it out.
    package let kind: Kind
    /// What it was, for a person.
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
        /// As many calls of the app came within its time as may.
        case appLimit
        /// As many calls of the caller came within its time as may.
        case callerLimit
        /// The app's level is above what is allowed on this device.
        case level
    }

    /// What the call ends for.
    package var endReason: CallEndReason { kind == .blocked ? .blocked : .restricted }
}

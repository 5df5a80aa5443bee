/// The journal's record of a push.
package struct PushRecord: Hashable, Sendable {
    /// The sender's id for the push, exactly as it was sent.
    package let pushID: String
    /// The app that the token belongs to.
    package let app: AppID
    /// The sender, and the protocol. With the app and the `pushID` they distinguish a repeat from another push.
    package let provenance: Provenance
    /// How urgent it is.
    package let priority: PushPriority
    /// The push replaces an earlier one with the same id whose call waits; see ``CallEngine/waiting(replacedBy:)``.
    package let collapseID: String?
    /// When its headers arrived.
    package let receivedAt: BootInstant
    /// When its headers arrived, in milliseconds since 1970 by the wall clock at that time; nil if the clock was not
    /// read. For display only: no decision depends on it.
    package var receivedWallClock: Int64?
    /// The push's call.
    package let call: CallID
    /// The effect that the push had when it arrived.
    package let outcome: PushOutcome

    package init(
        pushID: String, app: AppID, provenance: Provenance, priority: PushPriority, collapseID: String?,
        receivedAt: BootInstant, call: CallID, outcome: PushOutcome
    ) {
        self.pushID = pushID
        self.app = app
        self.provenance = provenance
        self.priority = priority
        self.collapseID = collapseID
        self.receivedAt = receivedAt
        self.call = call
        self.outcome = outcome
    }

    package init(_ push: VerifiedPush, call: CallID, outcome: PushOutcome) {
        self.init(
            pushID: push.pushID, app: push.app, provenance: push.provenance, priority: push.priority,
            collapseID: push.collapseID, receivedAt: push.receivedAt, call: call, outcome: outcome)
        receivedWallClock = push.receivedWallClock
    }

    /// The call's key on this device.
    package var key: CallKey { CallKey(app: app, id: call) }
}

/// The effect that a push had when it arrived.
package enum PushOutcome: String, Sendable, Codable, CaseIterable {
    /// It started its call.
    case started
    /// It updated its call, which was in progress.
    case updated
    /// It cancelled its call.
    case cancelled
    /// It arrived after its call's end, or repeated a push: it changed nothing.
    case duplicate
    /// It arrived after its expiration: its call is recorded as missed.
    case expired
    /// It tried to cancel its call after that was answered or had ended: it changed nothing.
    case tooLate
    /// A restriction or a block list stopped its call before a handler was woken.
    case restricted
    /// Its app's handler has too many strikes and was not started.
    case withheld
    /// A later push with its collapse id took its place before a handler had its call. Only a further push of that call
    /// is answered with it.
    case replaced
}

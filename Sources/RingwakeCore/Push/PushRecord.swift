/// What the journal keeps of a push.
package struct PushRecord: Hashable, Sendable {
    /// The sender's name for the push, exactly as it wrote it.
    package let pushID: String
    /// The app that the token belongs to.
    package let app: AppID
    /// Who sent it, by which door. With the app and the `pushID` it tells a repeat from another push.
    package let provenance: Provenance
    /// How urgent it is.
    package let priority: PushPriority
    /// Which undelivered push it replaces.
    package let collapseID: String?
    /// When its headers arrived.
    package let receivedAt: BootInstant
    /// When its headers arrived by the wall clock, in milliseconds since 1970, as it stood then; nil where nobody
    /// looked. For people to read: nothing is decided by it.
    package var receivedWallClock: Int64?
    /// The call that it is about.
    package let call: CallID
    /// What it brought about when it arrived.
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

    /// The call's name on this device.
    package var key: CallKey { CallKey(app: app, id: call) }
}

/// What a push brought about when it arrived.
package enum PushOutcome: String, Sendable, Codable, CaseIterable {
    /// It started its call.
    case started
    /// Its call runs already: it told more about it.
    case updated
    /// It took its call back.
    case cancelled
    /// It came after its call's end, or repeats a push: it changed nothing.
    case duplicate
    /// It came after its expiration: its call is recorded as missed.
    case expired
    /// It took its call back after that was answered or had ended: it changed nothing.
    case tooLate
    /// Its call was kept out before anybody was woken: by a restriction or a block list.
    case restricted
    /// Its app's handler has too many strikes and was not started.
    case withheld
}

/// The data that a handler gets for one push: on its standard input when it is started for the push, otherwise when it
/// fetches.
package struct WakeRequest: Hashable, Sendable {
    /// Why the handler gets the push.
    package enum Kind: String, Sendable, Codable {
        /// A new call to report.
        case call
        /// An update of a call that the handler already has.
        case update
        /// An outgoing call to start.
        case start
        /// A call that lost its handler, or whose handler failed: the handler must claim and continue it.
        case claim
    }

    /// The handler that the request is for.
    package let wake: WakeID
    package let kind: Kind
    /// The app whose handler is woken.
    package let app: AppID
    /// The id of the call.
    package let call: CallID
    /// 1 for the first handler that gets this call.
    package let attempt: Int
    /// When the push arrived. The handler gets its age.
    package let receivedAt: BootInstant
    /// The handler's deadline for the call; for a new call, the deadline to report it.
    package let reportBy: BootInstant
    /// The push's payload, byte for byte; of an outgoing call: whom to call.
    package let payload: [UInt8]

    package init(
        wake: WakeID, kind: Kind = .call, app: AppID, call: CallID, attempt: Int,
        receivedAt: BootInstant, reportBy: BootInstant, payload: [UInt8]
    ) {
        self.wake = wake
        self.kind = kind
        self.app = app
        self.call = call
        self.attempt = attempt
        self.receivedAt = receivedAt
        self.reportBy = reportBy
        self.payload = payload
    }

    /// The call's key on this device.
    package var key: CallKey { CallKey(app: app, id: call) }
}

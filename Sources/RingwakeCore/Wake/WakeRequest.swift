/// What a handler is given of one push: on its standard input when it is started for it, else when it fetches it.
package struct WakeRequest: Hashable, Sendable {
    /// Why the handler is given the push.
    package enum Kind: String, Sendable, Codable {
        /// There is a call to report.
        case call
        /// A call that the handler has already: this push says more of it.
        case update
        /// A call that outlived its handler, or whose handler failed: to be claimed, and gone on with.
        case claim
    }

    /// The start of a handler that this belongs to.
    package let wake: WakeID
    package let kind: Kind
    /// The app whose handler is woken.
    package let app: AppID
    /// The call to report.
    package let call: CallID
    /// 1 for the first time that a handler is given this call.
    package let attempt: Int
    /// When the push arrived; the handler is told its age.
    package let receivedAt: BootInstant
    /// By when the handler has to do something about the call: to report it while it is new.
    package let reportBy: BootInstant
    /// The push's payload, byte for byte.
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

    /// The call's name on this device.
    package var key: CallKey { CallKey(app: app, id: call) }
}

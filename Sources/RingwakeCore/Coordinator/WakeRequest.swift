/// What an activator needs to start a handler for one call.
package struct WakeRequest: Hashable, Sendable {
    /// The app whose handler is woken.
    package let app: AppID
    /// The topic that the push came for.
    package let topic: Topic
    /// The call to report.
    package let call: CallID
    /// 1 for the first time that this call wakes a handler.
    package let attempt: Int
    /// When the push arrived; the handler is told its age.
    package let receivedAt: BootInstant
    /// By when the handler has to report the call.
    package let reportBy: BootInstant
    /// The push's payload, byte for byte.
    package let payload: [UInt8]

    package init(
        app: AppID, topic: Topic, call: CallID, attempt: Int, receivedAt: BootInstant, reportBy: BootInstant,
        payload: [UInt8]
    ) {
        self.app = app
        self.topic = topic
        self.call = call
        self.attempt = attempt
        self.receivedAt = receivedAt
        self.reportBy = reportBy
        self.payload = payload
    }

    /// The call's name on this device.
    package var key: CallKey { CallKey(app: app, id: call) }
}

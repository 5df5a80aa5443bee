/// The urgency of a push. The numbers are those of `apns-priority`; the journal and the control API use them.
package enum PushPriority: Int, Sendable, Codable {
    /// Deliver now.
    case immediate = 10
    /// Deliver when it costs the device little.
    case conserving = 5
    /// Deliver, but never wake the device from sleep.
    case low = 1
}

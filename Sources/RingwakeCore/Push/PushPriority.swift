/// How urgent a push is. The numbers stand in the journal and in the control API; they are those of `apns-priority`.
package enum PushPriority: Int, Sendable, Codable {
    /// Deliver now.
    case immediate = 10
    /// Deliver when it costs the device little.
    case conserving = 5
    /// Deliver, but never wake the device.
    case low = 1
}

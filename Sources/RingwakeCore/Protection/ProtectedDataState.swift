/// Whether data of the class `complete` can be read: what apps know of the device's lock.
package enum ProtectedDataState: Hashable, Sendable {
    case available
    /// At this time: what has to be written or read is written or read before.
    case willBecomeUnavailable(at: BootInstant)
    case unavailable

    /// Whether it can be read now.
    package var isAvailable: Bool { self != .unavailable }
}

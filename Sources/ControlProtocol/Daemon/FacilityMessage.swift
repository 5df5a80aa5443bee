package import RunLoop

/// Something of the system that the daemon can do without, at a price.
package struct FacilityMessage: Codable, Equatable, Sendable {
    /// `pidfd`, `memfd`, `boottime-alarm`, `inotify`, `netlink`, `socket-filter`, `strict-netlink`.
    package var name: String
    /// Whether it is there.
    package var available: Bool
    /// Why it isn't.
    package var why: String?
    /// What is lost without it.
    package var loss: String

    package init(_ facility: Facility) {
        name = facility.name
        available = facility.why == nil
        why = facility.why
        loss = facility.loss
    }
}

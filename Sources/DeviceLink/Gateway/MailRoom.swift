internal import RingwakeCore

/// The mailboxes of all devices. One that is empty takes no memory.
struct MailRoom {
    private let limits: LinkLimits
    private var mailboxes: [DeviceID: Mailbox] = [:]
    private var deadlines: [DeviceID: BootInstant] = [:]

    init(limits: LinkLimits) {
        self.limits = limits
    }

    subscript(_ device: DeviceID) -> Mailbox? { mailboxes[device] }

    /// Pushes that wait, of all devices.
    var count: Int { mailboxes.values.reduce(0) { $0 + $1.count } }

    /// Bytes of their payloads.
    var byteCount: Int { mailboxes.values.reduce(0) { $0 + $1.byteCount } }

    /// No mailbox has an earlier deadline. Its own may be gone: to look for the next one at each push would cost more
    /// than to find nothing due now and then.
    private(set) var nextDeadline: BootInstant?

    /// The devices whose deadline has passed, in an order that is always the same.
    mutating func due(at now: BootInstant) -> [DeviceID] {
        let due = deadlines.filter { $0.value <= now }.map(\.key).sorted { $0.rawValue < $1.rawValue }
        for device in due { deadlines[device] = nil }
        nextDeadline = deadlines.values.min()
        return due
    }

    /// Takes what the last runs left, in the order in which it was written.
    ///
    /// - Returns: the pushes that it doesn't take, because their device isn't one.
    mutating func restore(
        _ mail: [(device: DeviceID, push: LinkPush, payloadBytes: Int)], isDevice: (DeviceID) -> Bool
    ) -> [DeviceID: [MailKey]] {
        var rest: [DeviceID: [MailKey]] = [:]
        for (device, rows) in Dictionary(grouping: mail, by: \.device) {
            guard isDevice(device) else {
                rest[device] = rows.map(\.push.key)
                continue
            }
            var mailbox = Mailbox(limits: limits)
            mailbox.restore(rows.map { ($0.push, $0.payloadBytes) })
            mailboxes[device] = mailbox
        }
        return rest
    }

    /// Changes a mailbox.
    ///
    /// - Returns: what follows.
    mutating func change(_ device: DeviceID, _ change: (inout Mailbox) -> [Mailbox.Effect]) -> [Mailbox.Effect] {
        // Out of the table meanwhile, so that nothing is copied.
        var mailbox = mailboxes.removeValue(forKey: device) ?? Mailbox(limits: limits)
        let effects = change(&mailbox)
        if !mailbox.isEmpty { mailboxes[device] = mailbox }
        let deadline = mailbox.nextDeadline
        deadlines[device] = deadline
        if let deadline { nextDeadline = min(nextDeadline ?? deadline, deadline) }
        if deadlines.isEmpty { nextDeadline = nil }
        return effects
    }
}

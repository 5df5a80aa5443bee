internal import MQTT5
import RingwakeCore

/// The devices that an administrator moves to another gateway: which of them still have to be asked, and which have said
/// that they are there. Where a device moves to is in its record.
///
/// A device is asked at once, or when it connects, with 0x9D. One that comes back could not follow, or is not able to: it is
/// taken, and asked again after ``interval``. One that has followed comes back once, with what link.md calls `moved`: it
/// gets what waits, then its tokens end here, and it goes.
///
/// The other gateway may be this one at another address. A device says which address it has used: if it is the one that it
/// was to move to, it has arrived.
struct DeviceMoves: Sendable {
    /// How long a device that could not follow is left alone.
    static let interval = Duration.seconds(3600)

    private var rates = LinkRates<DeviceID>(burst: 1, interval: interval)
    private var slices: LinkSlices?
    /// Devices that leave when nothing waits for them any more.
    private(set) var leaving: Set<DeviceID> = []

    /// When ``takeDue(_:_:at:)`` has something to return.
    var nextDeadline: BootInstant? { slices?.nextDeadline }

    /// Devices have to move, those that are linked some at a time; without a reference they stay.
    ///
    /// - Returns: the devices whose record has changed.
    mutating func begin(
        _ devices: [DeviceID], to reference: ServerReference?, _ links: LinkTable, in directory: inout DeviceDirectory,
        at now: BootInstant
    ) -> [DeviceID] {
        let known = devices.filter { directory[$0]?.revokedAt == nil }
        for device in known {
            // A device that could not follow to one address is asked at once about another.
            if directory[device]?.movesTo != reference?.description { rates.forget(device) }
            directory.move(device, to: reference)
        }
        // Those of an earlier order that have not been asked yet still have to be; one that may stay now is left out then.
        let linked = reference == nil ? [] : known.compactMap { links.link(of: $0) }
        let again = Set(linked)
        slices = LinkSlices((slices?.rest ?? []).filter { !again.contains($0) } + linked, at: now)
        return known
    }

    /// The links whose devices have to be asked now.
    mutating func takeDue(_ links: LinkTable, _ directory: DeviceDirectory, at now: BootInstant) -> [LinkDeparture] {
        guard let due = slices?.takeDue(at: now) else { return [] }
        if slices?.nextDeadline == nil { slices = nil }
        return due.compactMap { id in
            guard let device = links[id]?.device, let record = directory[device], let target = record.movesTo,
                record.server != target
            else { return nil }
            _ = rates.take(device, at: now)
            return .reference(target, to: id, isForGood: true)
        }
    }

    /// Why a device that connects has to go to another gateway; nil if it may stay.
    mutating func refusal(of hello: LinkHello, _ record: DeviceRecord?, at now: BootInstant) -> LinkHello.Refusal? {
        guard let record, hello.purpose == .link else { return nil }
        if hello.hasMoved, record.revokedAt == nil, let said = hello.server, record.server != said {
            // It would lose the tokens that it uses, or is about to use after it was paired.
            return .init(.notAuthorized, "the device uses this gateway, at another address")
        }
        guard let target = record.movesTo, hello.server != target else { return nil }
        guard record.revokedAt != nil || !hello.hasMoved && rates.take(record.id, at: now) else { return nil }
        return .init(.serverMoved, "the device moves to another gateway", serverReference: target)
    }

    /// A device was accepted.
    ///
    /// - Returns: whether its record has changed.
    mutating func accepted(_ hello: LinkHello, in directory: inout DeviceDirectory) -> Bool {
        guard !hello.hasMoved else {
            leaving.insert(hello.device)
            return false
        }
        return directory.note(hello.server, of: hello.device)
    }

    mutating func stays(_ device: DeviceID) { leaving.remove(device) }
}

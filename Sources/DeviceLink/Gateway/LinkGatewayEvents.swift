package import MQTT5
package import RingwakeCore

/// A connection of a device, on the gateway.
package struct LinkID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// What happens at a gateway.
package enum LinkGatewayEvent: Sendable {
    /// A connection was made. `network` is what wrong codes are counted by.
    case opened(LinkID, network: String)
    case received(LinkID, MQTTPacket, LinkProof)
    /// The peer's bytes are no packets.
    case failed(LinkID, MQTTReason, String)
    /// The connection is gone. It comes once for each that was opened.
    case closed(LinkID)
    /// The time of ``LinkGatewayStateMachine/deadline(of:)``.
    case linkDeadlineReached(LinkID)
    /// A sender's push for a device, which was found by ``DeviceDirectory/owner(ofTokenHash:)``.
    case push(VerifiedPush, DeviceID, LinkSlot, PushTicket)
    /// The result of ``LinkGatewayEffect/append(_:_:replacing:)``.
    case committed(DeviceID, MailKey, isDurable: Bool)
    /// The result of ``LinkGatewayEffect/read(_:_:)``; nil if the disk can't be read.
    case read(DeviceID, [MailKey], [MailKey: Mailbox.StoredPayload]?)
    /// The result of ``LinkGatewayEffect/store(_:_:)``.
    case stored(DeviceChange, isDurable: Bool)
    /// An administrator takes a device out.
    case revoke(DeviceID)
    /// An administrator makes a device compare its registrations with the gateway's.
    case disagree(DeviceID)
    /// An administrator ends registrations of a device.
    case unregister(DeviceID, [LinkSlot])
    /// A probe has its result: the device gets what follows of it.
    case endProbe(LinkID, LinkTiming)
    /// An administrator moves devices to another gateway for good; nil: they stay. Their tokens end when they are there.
    case move([DeviceID], to: ServerReference?)
    /// An administrator lets devices that are linked use another gateway for now.
    case refer([DeviceID], to: ServerReference)
    /// An administrator drains the gateway: no device is accepted, and those that are linked leave, some at a time. With
    /// `false` it takes links again.
    case drain(Bool)
    /// The daemon stops: no device is accepted any more, and those that are linked leave at once.
    case stop
    case deadlineReached
}

/// Names a sender's push until it is answered.
package struct PushTicket: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// Why a device's record is stored: what has to follow.
package enum DeviceChange: Hashable, Sendable {
    case paired(LinkID, packetID: UInt16, DeviceID)
    case registrations(LinkID, packetID: UInt16, DeviceID)
    case left(LinkID, packetID: UInt16, DeviceID)
    case administrative(DeviceID)
}

/// What a gateway has to do, in this order.
package enum LinkGatewayEffect: Hashable, Sendable {
    case send(LinkID, MQTTPacket)
    /// Close it when everything was sent. With the cause, for the log.
    case close(LinkID, String)
    case append(DeviceID, LinkPush, replacing: [MailKey])
    case remove(DeviceID, [MailKey])
    case read(DeviceID, [MailKey])
    case answer(PushTicket, Mailbox.Answer)
    /// Store the device's record as it is now, or remove it if there is none.
    case store(DeviceID, DeviceChange)
    /// A device says what became of its pushes.
    case receipts(DeviceID, [LinkReceipt])
    /// Packets may be larger from now on: the device is known.
    case allow(LinkID, packetBytes: Int)
    case note(LinkNote)
}

extension LinkGatewayEffect {
    /// What a mailbox wants that concerns nothing else of the gateway.
    static func plain(_ effect: Mailbox.Effect, of device: DeviceID) -> [LinkGatewayEffect] {
        switch effect {
        case .append(let push, let replaced): [.append(device, push, replacing: replaced)]
        case .remove(let keys): [.remove(device, keys)]
        case .read(let keys): [.read(device, keys)]
        case .disagreement(let slot):
            [.note(.divergence(device, "the device does not know registration \(slot)"))]
        case .dropped(let key, let why): [.note(.dropped(device, key, why))]
        case .send, .answer, .ended: []
        }
    }
}

/// For log, events and counters.
package enum LinkNote: Hashable, Sendable {
    case linked(LinkID, DeviceID, version: String?)
    case unlinked(LinkID, DeviceID, cause: String)
    case paired(DeviceID, name: String)
    case refused(LinkID, network: String, MQTTReason, String)
    case registered(DeviceID, count: Int, revision: UInt64)
    case messageRefused(DeviceID, String)
    case divergence(DeviceID, String)
    case unregistered(DeviceID, LinkSlot)
    case dropped(DeviceID, MailKey, Mailbox.Drop)
    /// `arrived` is when the push came, on the boot clock in ms; nil if it was settled before.
    case acknowledged(DeviceID, MailKey, MQTTReason, arrived: Int64?)
    case probeEnded(LinkID, ProbeEnd)
    /// A device has another gateway now.
    case moved(DeviceID)
}

/// How a probe that was begun has ended, or was silent for as long as it had to be.
package enum ProbeEnd: Hashable, Sendable {
    /// It still lives. Answer with ``LinkGatewayEvent/endProbe(_:_:)``.
    case survived
    /// It broke without a word.
    case broken
    /// One of the two has ended it.
    case left
}

/// What a gateway asks while it handles an event.
package struct LinkGatewayHost {
    /// The wall clock in ms since 1970.
    package let wall: () -> Int64
    /// Whether a team of this gateway may send to a topic.
    package let isServed: (Topic) -> Bool
    /// Whether a raw ES256 signature over a message is of this key (SubjectPublicKeyInfo).
    package let isSigned: (_ message: [UInt8], _ signature: [UInt8], _ key: [UInt8]) -> Bool
    /// Whether these bytes are the SubjectPublicKeyInfo of a P-256 key.
    package let isKey: ([UInt8]) -> Bool
    /// Whether any device may pair, without a code.
    package let isOpen: Bool
    /// Whether devices may keep what only they have, if they and the gateway disagree.
    package var allowsRecovery = true
    /// Whether there is a place for one more link of a device.
    package var hasRoom: (DeviceID) -> Bool = { _ in true }
    /// Learns that a device was accepted. Answers what it is told about keep-alives, and for how many seconds a probe has
    /// to be silent; nil if none is due. The end of a probe is ``LinkNote/probeEnded(_:_:)``.
    package var accepted: (_ hello: LinkHello, _ link: LinkID) -> (timing: LinkTiming, tried: UInt16?) = { _, _ in
        (LinkTiming(keepAlive: 0), nil)
    }

    package init(
        wall: @escaping () -> Int64, isServed: @escaping (Topic) -> Bool,
        isSigned: @escaping (_ message: [UInt8], _ signature: [UInt8], _ key: [UInt8]) -> Bool,
        isKey: @escaping ([UInt8]) -> Bool, isOpen: Bool
    ) {
        self.wall = wall
        self.isServed = isServed
        self.isSigned = isSigned
        self.isKey = isKey
        self.isOpen = isOpen
    }
}

import DeviceLink
import MQTT5
import RingwakeCore

/// A device with a journal. It speaks MQTT in bytes, over connections that lose what is on its way when they break.
struct SimulatedLinkedDevice {
    /// What the device knows a push by for a day.
    struct Known: Hashable {
        let sender: String
        let id: String
    }

    struct Connection {
        let link: LinkID
        var session: DeviceSession
        var decoder = MQTTDecoder(maximumPacketBytes: LinkLimits.packetBytes)
    }

    /// A push that is not in the journal yet.
    struct Pending {
        let link: LinkID
        let packetID: UInt16
        let push: LinkPush
    }

    let id: DeviceID
    var connection: Connection?
    private(set) var registrations: LinkRegistrations
    private var lastSlot: UInt32 = 2
    var pending: [Pending] = []
    private(set) var journal: [Known: MailKey] = [:]
    /// The pushes as they came into the journal.
    private(set) var entries: [LinkPush] = []

    init(_ id: DeviceID) {
        self.id = id
        registrations = LinkRegistrations(
            revision: 1, registrations: [.test(id, slot: .first), .test(id, slot: .second)])
    }

    var knowsSlot: (LinkSlot) -> Bool {
        let slots = Set(registrations.registrations.map(\.slot))
        return { slots.contains($0) }
    }

    /// One registration ends, and another is made.
    mutating func changeRegistrations() {
        lastSlot += 1
        registrations.revision += 1
        registrations.registrations.removeFirst()
        registrations.registrations.append(.test(id, slot: LinkSlot(rawValue: lastSlot)))
    }

    mutating func begin(_ link: LinkID, receiveMaximum: UInt16, at now: BootInstant) -> [DeviceSession.Output] {
        var session = DeviceSession(device: id, purpose: .link)
        let outputs = session.begin(
            DeviceSession.Greeting(
                version: "test", revision: registrations.revision, registrations: registrations.registrations,
                epoch: TestGateway.epoch, network: nil, receiveMaximum: receiveMaximum),
            authentication: nil, at: now)
        connection = Connection(link: link, session: session)
        return outputs
    }

    /// Takes bytes of the gateway. Pushes of registered slots wait for the journal.
    mutating func receive(_ bytes: [UInt8], at now: BootInstant) throws -> [DeviceSession.Output] {
        guard var connection else { return [] }
        defer { self.connection = connection }
        connection.decoder.consume(bytes)
        var outputs: [DeviceSession.Output] = []
        while let packet = try connection.decoder.next() {
            var queue = connection.session.receive(packet, at: now)
            while !queue.isEmpty {
                let output = queue.removeFirst()
                outputs.append(output)
                switch output {
                case .welcomed(let welcome) where welcome.revision != registrations.revision: isStale = true
                case .linked where isStale:
                    isStale = false
                    queue += connection.session.publish(.registrations(registrations), at: now)
                case .push(let packetID, let push):
                    if knowsSlot(push.slot) {
                        pending.append(Pending(link: connection.link, packetID: packetID, push: push))
                    } else {
                        queue += connection.session.settle(packetID, .unknownSlot)
                    }
                default: break
                }
            }
        }
        return outputs
    }

    /// The gateway's registrations are older ones.
    private var isStale = false

    /// Writes the oldest push into the journal, in one commit that is durable then.
    mutating func commitNext() -> Pending? {
        guard !pending.isEmpty else { return nil }
        let next = pending.removeFirst()
        let known = Known(sender: next.push.sender, id: next.push.pushID.canonicalPushID)
        if journal[known] == nil {
            journal[known] = next.push.key
            entries.append(next.push)
        }
        return next
    }

    /// Answers a push, if its link is still there.
    mutating func settle(_ push: Pending, _ settlement: DeviceSession.Settlement) -> [DeviceSession.Output] {
        guard connection?.link == push.link else { return [] }
        return connection?.session.settle(push.packetID, settlement) ?? []
    }

    mutating func publishRegistrations(at now: BootInstant) -> [DeviceSession.Output] {
        connection?.session.publish(.registrations(registrations), at: now) ?? []
    }

    func has(_ push: VerifiedPush) -> Bool {
        journal[Known(sender: push.provenance.sender, id: push.pushID.canonicalPushID)] != nil
    }
}

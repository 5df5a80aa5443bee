internal import MQTT5
package import RingwakeCore

/// All devices of a gateway and their tokens.
package struct DeviceDirectory: Sendable {
    /// Whom a token belongs to.
    package enum Owner: Hashable, Sendable {
        case registered(DeviceID, LinkRegistration)
        /// Its registration ended at this time in ms since 1970.
        case ended(DeviceID, at: Int64)
    }

    private enum Entry: Sendable {
        case registered(DeviceID, index: Int)
        case ended(DeviceID, at: Int64)
    }

    package private(set) var devices: [DeviceID: DeviceRecord] = [:]
    private var tokens: [String: Entry] = [:]

    package init() {}

    package subscript(_ id: DeviceID) -> DeviceRecord? { devices[id] }

    /// Whose token has this SHA-256 (in hex); nil if nobody's.
    package func owner(ofTokenHash hash: String) -> Owner? {
        switch tokens[hash] {
        case .registered(let device, let index):
            guard let record = devices[device], record.registrations.indices.contains(index) else { return nil }
            return .registered(device, record.registrations[index])
        case .ended(let device, let time): return .ended(device, at: time)
        case nil: return nil
        }
    }

    /// Adds a device, or replaces its record.
    package mutating func put(_ record: DeviceRecord) {
        remove(record.id)
        devices[record.id] = record
        for token in record.ended { tokens[token.token] = .ended(record.id, at: token.at) }
        for (index, registration) in record.registrations.enumerated() {
            tokens[registration.token] = .registered(record.id, index: index)
        }
    }

    /// Forgets a device with its tokens.
    package mutating func remove(_ id: DeviceID) {
        guard let record = devices.removeValue(forKey: id) else { return }
        for token in record.ended.map(\.token) + record.registrations.map(\.token) {
            // Damaged rows may have one token twice.
            switch tokens[token] {
            case .registered(id, _), .ended(id, _): tokens[token] = nil
            case .registered, .ended, nil: break
            }
        }
    }

    /// Adds a device, or lets a known one in again, with the registrations that it has.
    mutating func pair(_ id: DeviceID, name: String?, sealing: String?, at time: Int64) {
        let shown = shortText(name ?? "", bytes: DeviceRecord.maximumNameBytes)
        var record = devices[id] ?? DeviceRecord(id: id, name: shown, pairedAt: time, sealing: sealing)
        record.name = shown.isEmpty ? id.short : shown
        record.pairedAt = time
        record.sealing = sealing
        record.revokedAt = nil
        record.isBarred = nil
        record.movesTo = nil
        record.server = nil
        put(record)
    }

    /// Sets where a device moves to; nil: it stays.
    mutating func move(_ id: DeviceID, to reference: ServerReference?) {
        guard var record = devices[id] else { return }
        record.movesTo = reference?.description
        put(record)
    }

    /// Notes which address of this gateway a device uses.
    ///
    /// - Returns: whether it is another one than before.
    mutating func note(_ server: String?, of id: DeviceID) -> Bool {
        guard var record = devices[id], record.server != server else { return false }
        record.server = server
        put(record)
        return true
    }

    /// Ends all registrations of a device, which is out from now on. If it is let in again, it sends others, whatever
    /// their revision.
    ///
    /// - Parameters:
    ///   - isBarred: whether it needs a code to come back, even where others need none.
    ///   - hasMoved: whether it is at the gateway that it was to move to.
    mutating func revoke(_ id: DeviceID, at time: Int64, isBarred: Bool, hasMoved: Bool) {
        guard var record = devices[id] else { return }
        record.end(record.registrations, at: time)
        record.registrations = []
        record.revision = nil
        record.revokedAt = time
        record.isBarred = isBarred ? true : record.isBarred
        record.movesTo = hasMoved ? record.movesTo : nil
        put(record)
    }

    /// Raises the revision if a device has other registrations at the same one: one of the two is from an older state, and
    /// has counted on.
    ///
    /// - Returns: whether it was raised.
    mutating func raiseRevision(above hello: LinkHello) -> Bool {
        guard hello.purpose == .link, !hello.hasMoved, let record = devices[hello.device],
            let revision = record.revision, hello.revision == revision
        else { return false }
        let differs =
            hello.tokens.map { $0 != LinkRegistration.mark(of: record.registrations) }
            ?? (hello.slots.map { $0 != record.registrations.count } ?? false)
        if differs { raiseRevision(of: hello.device) }
        return differs
    }

    /// Raises the revision without a change, so that the device has an older one.
    mutating func raiseRevision(of id: DeviceID) {
        guard var record = devices[id], let revision = record.revision else { return }
        record.revision = revision &+ 1
        put(record)
    }

    /// The registrations of a device, and which of these tokens it can't register.
    func registrations(of id: DeviceID, comparing tokens: [String]) -> GatewayRegistrations {
        let record = devices[id]
        let ended = tokens.filter { token in
            switch owner(ofTokenHash: token) {
            case .registered(let other, _): other != id
            case .ended: true
            case nil: false
            }
        }
        return GatewayRegistrations(
            revision: record?.revision, registrations: record?.registrations ?? [], ended: ended)
    }

    /// Ends registrations.
    ///
    /// - Parameter raisingRevision: whether the device has to learn of it: the revision is above its own then.
    /// - Returns: those that there were.
    mutating func end(
        _ slots: [LinkSlot], of id: DeviceID, at time: Int64, raisingRevision: Bool
    ) -> Set<LinkSlot> {
        guard var record = devices[id] else { return [] }
        let gone = record.registrations.filter { slots.contains($0.slot) }
        guard !gone.isEmpty else { return [] }
        record.end(gone, at: time)
        if raisingRevision, let revision = record.revision, revision < UInt64(Int64.max) {
            record.revision = revision + 1
        }
        record.registrations.removeAll { slots.contains($0.slot) }
        put(record)
        return Set(gone.map(\.slot))
    }

    /// The record of a device after it has sent these registrations.
    ///
    /// - Parameters:
    ///   - time: now, in ms since 1970.
    /// - Throws: why they are refused, in words for the device.
    package func record(
        of id: DeviceID, after set: LinkRegistrations, at time: Int64
    ) throws(UplinkMessage.Defect) -> DeviceRecord {
        guard var record = devices[id], record.revokedAt == nil else {
            throw UplinkMessage.Defect(.notAuthorized, "the device is not paired")
        }
        try check(set, of: id)
        if let known = record.revision, set.revision < known {
            throw UplinkMessage.Defect(
                "revision \(set.revision) is older than the gateway's, which is \(known)")
        }
        let kept = Set(set.registrations.map(\.token))
        record.end(record.registrations.filter { !kept.contains($0.token) }, at: time)
        record.registrations = set.registrations
        record.revision = set.revision
        record.sealing = set.sealing ?? record.sealing
        return record
    }

    /// What is wrong with registrations that count all the same: a topic that no team may send to, which may change.
    func complaint(of id: DeviceID, isServed: (Topic) -> Bool) -> String? {
        for registration in devices[id]?.registrations ?? [] {
            guard let topic = registration.topics.first(where: { !isServed($0) }) else { continue }
            return "no team of this gateway may send to the topic '\(topic)'; ask its operator"
        }
        return nil
    }

    private func check(_ set: LinkRegistrations, of id: DeviceID) throws(UplinkMessage.Defect) {
        guard set.registrations.count <= LinkLimits.maximumRegistrations else {
            throw UplinkMessage.Defect(.quotaExceeded, "more than \(LinkLimits.maximumRegistrations) registrations")
        }
        guard Int64(exactly: set.revision) != nil else { throw UplinkMessage.Defect("'revision' is too large") }
        var slots: Set<LinkSlot> = []
        var hashes: Set<String> = []
        for registration in set.registrations {
            let name = "registration \(registration.slot)"
            guard slots.insert(registration.slot).inserted, hashes.insert(registration.token).inserted else {
                throw UplinkMessage.Defect("\(name) is there twice, or its token is")
            }
            guard let bytes = decodeHex(Array(registration.token.utf8)), bytes.count == 32,
                encodeHex(bytes) == registration.token
            else { throw UplinkMessage.Defect("\(name): 'token' is not a SHA-256 in lower-case hex") }
            guard !registration.topics.isEmpty, registration.topics.count <= 8,
                registration.topics.allSatisfy({ !$0.rawValue.isEmpty && $0.rawValue.utf8.count <= 255 })
            else { throw UplinkMessage.Defect("\(name): 'topics' are not 1 to 8 texts of 255 bytes at most") }
            switch owner(ofTokenHash: registration.token) {
            case .registered(let other, _) where other != id, .ended(let other, _) where other != id:
                throw UplinkMessage.Defect(.notAuthorized, "\(name): its token belongs to another device")
            case .ended:
                throw UplinkMessage.Defect("\(name): its token has ended; make another one")
            case .registered, nil: break
            }
        }
    }
}

package import MQTT5
package import RingwakeCore

/// The pushes of one device between the gateway's answer and the device's acknowledgement.
///
/// ```
/// accept --device online, nothing ahead--> held --acknowledged--> gone: answered, never written
///        |                                  | hold time over, link lost, device can't take it
///        |                                  v
///        +--otherwise-----------------> committing --committed--> stored --acknowledged--> gone
/// ```
/// Beside that, each push waits, is on its way, or rests because the device could not take it. Of each registration one
/// push is on its way at a time, so its pushes keep their order.
///
/// It is a value: what has to be done is returned as ``Effect``s.
package struct Mailbox: Sendable {
    /// What the owner has to do, in this order.
    package enum Effect: Hashable, Sendable {
        /// Send it on the link, which has room.
        case send(LinkPush)
        /// Write it, and remove the others, in one transaction. Report the result to ``committed(_:isDurable:room:at:)``.
        case append(LinkPush, replacing: [MailKey])
        /// Remove them some time.
        case remove([MailKey])
        /// Read their payloads, and report them to ``read(_:of:room:at:)``.
        case read([MailKey])
        /// Answer the sender.
        case answer(MailKey, Answer)
        /// The device has no such registration: its token has ended.
        case ended(LinkSlot)
        /// The device says that it has no such registration, but its registrations are others than the gateway's.
        case disagreement(LinkSlot)
        /// The push ended without reaching its app.
        case dropped(MailKey, Drop)
    }

    /// In the order of acceptance.
    private var entries: [MailEntry] = []
    private let limits: LinkLimits

    package init(limits: LinkLimits) {
        self.limits = limits
    }

    /// Takes what the last runs left, in the order in which it was written; without payloads.
    ///
    /// A push whose commit was held back may have been written after one that was accepted later. Runs follow each other.
    package mutating func restore(_ pushes: [(push: LinkPush, payloadBytes: Int)]) {
        var runs: [UInt64: Int] = [:]
        for (push, _) in pushes where runs[push.key.run] == nil { runs[push.key.run] = runs.count }
        entries = pushes.map { MailEntry(restored: $0.push, payloadBytes: $0.payloadBytes) }
        entries.sort {
            $0.key.run == $1.key.run
                ? $0.key.sequence < $1.key.sequence : runs[$0.key.run, default: 0] < runs[$1.key.run, default: 0]
        }
    }

    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }
    /// Bytes of all payloads.
    package var byteCount: Int { entries.reduce(0) { $0 + $1.payloadBytes } }
    /// The lowest unsettled push.
    package var floor: MailKey? { entries.first?.key }
    /// When a push arrived, on the gateway's boot clock in ms; nil if it is settled.
    package func arrival(of key: MailKey) -> Int64? { entries.first { $0.key == key }?.push.arrivedBoot }
    /// The pushes, for a person.
    package var pushes: [LinkPush] { entries.map(\.push) }

    /// When ``deadlineReached(at:room:)`` has to be called.
    package var nextDeadline: BootInstant? {
        var next: BootInstant?
        for entry in entries {
            if case .held(let time) = entry.durability { next = min(next ?? time, time) }
            if case .resting(let time) = entry.delivery { next = min(next ?? time, time) }
        }
        return next
    }

    // MARK: - A push from a sender

    /// Takes a push, or refuses it.
    ///
    /// - Parameters:
    ///   - push: with its payload.
    ///   - room: how many pushes the link can take now; nil without a link.
    ///   - now: the boot clock.
    package mutating func accept(_ push: LinkPush, room: Int?, at now: BootInstant) -> [Effect] {
        var effects = purge(at: now)
        if let older = entries.first(where: { $0.isRepeated(by: push) }) {
            effects.append(.answer(push.key, repeated(older)))
            return effects + deliver(room: room)
        }
        let collapsed = entries.filter { $0.isCollapsed(by: push) }.map(\.key)
        guard makeRoom(for: push, without: collapsed, &effects) else {
            effects.append(.answer(push.key, .refused(.mailboxFull)))
            return effects + deliver(room: room)
        }
        for index in entries.indices where collapsed.contains(entries[index].key) {
            entries[index].delivery = .superseded(by: push.key)
        }
        let isAlone = !entries.contains { $0.push.slot == push.slot }
        let canSend = isAlone && (room ?? 0) > 0
        let isHeld = canSend && limits.holdTime > .zero
        entries.append(
            MailEntry(
                push, isHeld ? .held(until: now.advanced(by: limits.holdTime)) : .committing,
                canSend ? .inFlight : .waiting, hadAttempt: canSend || room == nil))
        if !isHeld { effects.append(.append(push, replacing: collapsed)) }
        if canSend { effects.append(.send(push)) }
        return effects + deliver(room: room.map { canSend ? $0 - 1 : $0 })
    }

    private func repeated(_ older: MailEntry) -> Answer {
        switch older.durability {
        case .stored: .queued
        // The sender repeats it again; what it repeats is answered soon.
        case .held, .committing: .refused(.unavailable)
        }
    }

    /// Makes room for a push. VoIP pushes push out others, if that makes enough room.
    ///
    /// - Parameter collapsed: pushes whose place it takes.
    /// - Returns: whether there is room.
    private mutating func makeRoom(
        for push: LinkPush, without collapsed: [MailKey], _ effects: inout [Effect]
    ) -> Bool {
        var others = entries.filter { !collapsed.contains($0.key) }
        var displaced: [MailKey] = []
        while true {
            let bytes = others.reduce(0) { $0 + $1.payloadBytes }
            let isSlotFull = others.count { $0.push.slot == push.slot } >= limits.maximumMailOfSlot
            guard
                isSlotFull || others.count >= limits.maximumMail || bytes + push.payload.count > limits.maximumMailBytes
            else { break }
            let victim = others.firstIndex {
                push.isVoIP && !$0.push.isVoIP && $0.isAtRest && (!isSlotFull || $0.push.slot == push.slot)
            }
            guard let victim else { return false }
            displaced.append(others.remove(at: victim).key)
        }
        for key in displaced { drop(key, .displaced, &effects) }
        return true
    }

    private mutating func drop(_ key: MailKey, _ why: Drop, _ effects: inout [Effect]) {
        entries.removeAll { $0.key == key }
        effects += [.dropped(key, why), .remove([key])]
    }

    /// Turns what must not ring any more into notices, and drops what isn't a VoIP push.
    private mutating func purge(at now: BootInstant) -> [Effect] {
        var effects: [Effect] = []
        for entry in entries where entry.isAtRest && entry.push.notice == nil {
            guard let notice = entry.notice(at: now, limits) else { continue }
            guard entry.push.isVoIP else {
                drop(entry.key, .expired, &effects)
                continue
            }
            for index in entries.indices where entries[index].key == entry.key { entries[index].becomeNotice(notice) }
        }
        return effects
    }

    // MARK: - The link

    /// A new link can take pushes: also those that the former one could not.
    package mutating func linkHasRoom(_ room: Int?, at now: BootInstant) -> [Effect] {
        for index in entries.indices {
            if case .resting = entries[index].delivery { entries[index].delivery = .waiting }
        }
        return purge(at: now) + deliver(room: room)
    }

    /// The link is gone, or was taken over by another: what was on its way waits for the next one.
    package mutating func linkLost() -> [Effect] {
        var effects: [Effect] = []
        for index in entries.indices {
            entries[index].hadAttempt = true
            guard entries[index].delivery == .inFlight else { continue }
            entries[index].delivery = .waiting
            effects += commitNow(at: index)
        }
        return effects
    }

    /// The device has settled a push. Late acknowledgements of an earlier link count.
    ///
    /// - Parameters:
    ///   - isNewestLink: whether the push is on its way on the link that has acknowledged it. What an earlier link
    ///     could not take, the newest one may.
    ///   - hasSameRegistrations: whether the device's registrations are those of the gateway.
    package mutating func acknowledged(
        _ key: MailKey, _ reason: MQTTReason, isNewestLink: Bool, hasSameRegistrations: Bool, room: Int?,
        at now: BootInstant
    ) -> [Effect] {
        var effects: [Effect] = []
        if let index = entries.firstIndex(where: { $0.key == key }) {
            let slot = entries[index].push.slot
            switch reason {
            case .success: effects = settle(index, .delivered)
            case .topicNameInvalid where hasSameRegistrations: effects = remove { $0 == slot } + [.ended(slot)]
            case .payloadFormatInvalid:
                effects = settle(index, .refused(.unavailable)) + [.dropped(key, .refused)]
            default:
                if case .topicNameInvalid = reason { effects.append(.disagreement(slot)) }
                guard isNewestLink, entries[index].delivery == .inFlight else { break }
                entries[index].delivery = .resting(until: now.advanced(by: limits.offerAgainAfter))
                effects += commitNow(at: index)
            }
        }
        return effects + purge(at: now) + deliver(room: room)
    }

    /// A push is done with: answers its sender, if that still waits.
    private mutating func settle(_ index: Int, _ answer: Answer) -> [Effect] {
        let entry = entries.remove(at: index)
        switch entry.durability {
        case .held: return [.answer(entry.key, answer)]
        case .committing: return [.answer(entry.key, answer), .remove([entry.key])]
        case .stored: return [.remove([entry.key])]
        }
    }

    private mutating func commitNow(at index: Int) -> [Effect] {
        guard case .held = entries[index].durability else { return [] }
        entries[index].durability = .committing
        return [.append(entries[index].push, replacing: [])]
    }

    /// Sends what may be sent: of each registration the first, the most urgent registration first.
    private mutating func deliver(room: Int?) -> [Effect] {
        guard let room, room > 0 else { return [] }
        var seen: Set<LinkSlot> = []
        var heads: [Int] = []
        for index in entries.indices where seen.insert(entries[index].push.slot).inserted {
            if entries[index].delivery == .waiting { heads.append(index) }
        }
        // Sorting is not stable: of equally urgent ones the oldest goes first.
        heads.sort {
            let (left, right) = (entries[$0].push.priority.rawValue, entries[$1].push.priority.rawValue)
            return left == right ? $0 < $1 : left > right
        }
        var effects: [Effect] = []
        var missing: [MailKey] = []
        for index in heads.prefix(room) {
            if entries[index].hasPayload {
                entries[index].delivery = .inFlight
                entries[index].hadAttempt = true
                effects.append(.send(entries[index].push))
                entries[index].forgetPayload()
            } else {
                entries[index].delivery = .reading
                missing.append(entries[index].key)
            }
        }
        if !missing.isEmpty { effects.append(.read(missing)) }
        return effects
    }

    // MARK: - The disk

    /// A push was written, or could not be.
    package mutating func committed(
        _ key: MailKey, isDurable: Bool, room: Int?, at now: BootInstant
    ) -> [Effect] {
        guard let index = entries.firstIndex(where: { $0.key == key }), entries[index].durability == .committing
        else { return [] }
        guard isDurable else {
            // Its sender repeats it. If it is on its way, the device knows it then.
            entries.remove(at: index)
            for index in entries.indices where entries[index].delivery == .superseded(by: key) {
                entries[index].delivery = .waiting
            }
            return [.answer(key, .refused(.unavailable))] + purge(at: now) + deliver(room: room)
        }
        entries[index].durability = .stored
        var effects = [Effect.answer(key, .queued)]
        for entry in entries where entry.delivery == .superseded(by: key) {
            effects.append(.dropped(entry.key, .collapsed))
        }
        entries.removeAll { $0.delivery == .superseded(by: key) }
        effects += purge(at: now) + deliver(room: room)
        for index in entries.indices where entries[index].key == key { entries[index].forgetPayload() }
        return effects
    }

    /// Payloads were read. A push whose row is gone can't be delivered any more.
    ///
    /// - Parameter found: nil if the disk can't be read now.
    package mutating func read(
        _ found: [MailKey: StoredPayload]?, of keys: [MailKey], room: Int?, at now: BootInstant
    ) -> [Effect] {
        var effects: [Effect] = []
        for index in entries.indices.reversed()
        where keys.contains(entries[index].key) && entries[index].delivery == .reading {
            guard let found else {
                entries[index].delivery = .resting(until: now.advanced(by: limits.offerAgainAfter))
                continue
            }
            guard let stored = found[entries[index].key] else {
                effects.append(.dropped(entries.remove(at: index).key, .lost))
                continue
            }
            entries[index].delivery = .waiting
            entries[index].takePayload(stored)
        }
        effects += purge(at: now) + deliver(room: room)
        for index in entries.indices where entries[index].delivery == .waiting { entries[index].forgetPayload() }
        return effects
    }

    /// A deadline has passed.
    package mutating func deadlineReached(at now: BootInstant, room: Int?) -> [Effect] {
        var effects: [Effect] = []
        for index in entries.indices {
            if case .held(let time) = entries[index].durability, time <= now { effects += commitNow(at: index) }
            if case .resting(let time) = entries[index].delivery, time <= now { entries[index].delivery = .waiting }
        }
        return effects + purge(at: now) + deliver(room: room)
    }

    /// Removes the pushes of registrations that are gone. Their senders get 410 from now on.
    package mutating func remove(_ isGone: (LinkSlot) -> Bool) -> [Effect] {
        var effects: [Effect] = []
        for index in entries.indices.reversed() where isGone(entries[index].push.slot) {
            let key = entries[index].key
            effects += settle(index, .refused(.unregistered)) + [.dropped(key, .unregistered)]
        }
        return effects
    }
}

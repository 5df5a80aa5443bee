/// Identifies one watch: a slot, and how often the slot was used before. It fits into the 64 bits of epoll's user data.
struct SourceToken: Equatable {
    let slot: UInt32
    let generation: UInt32

    init(slot: UInt32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    init(rawValue: UInt64) {
        slot = UInt32(truncatingIfNeeded: rawValue)
        generation = UInt32(truncatingIfNeeded: rawValue >> 32)
    }

    var rawValue: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}

/// One watched descriptor.
struct Source {
    let descriptor: Int32
    /// Whether the loop closes it when the watch ends.
    let isOwned: Bool
    let cause: WakeupCause
    var interest: Interest
    let body: (Readiness) -> Void
}

/// The watched descriptors of a loop, by slot. The token of a removed source is never valid again, even if its slot is
/// reused. So an event that the kernel reported before a cancellation never reaches a new source.
struct SourceTable {
    private struct Slot {
        var generation: UInt32
        var source: Source?
    }

    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []

    /// All sources.
    var all: [Source] { slots.compactMap(\.source) }

    subscript(token: SourceToken) -> Source? {
        let slot = Int(token.slot)
        guard slot < slots.count, slots[slot].generation == token.generation else { return nil }
        return slots[slot].source
    }

    mutating func insert(_ source: Source) -> SourceToken {
        if let slot = freeSlots.popLast() {
            slots[Int(slot)].source = source
            return SourceToken(slot: slot, generation: slots[Int(slot)].generation)
        }
        // The kernel's descriptor limit (at most 2^30) keeps this far below 2^32.
        let slot = UInt32(truncatingIfNeeded: slots.count)
        slots.append(Slot(generation: 0, source: source))
        return SourceToken(slot: slot, generation: 0)
    }

    mutating func setInterest(_ interest: Interest, of token: SourceToken) {
        guard self[token] != nil else { return }
        slots[Int(token.slot)].source?.interest = interest
    }

    @discardableResult
    mutating func remove(_ token: SourceToken) -> Source? {
        guard let source = self[token] else { return nil }
        slots[Int(token.slot)].source = nil
        slots[Int(token.slot)].generation &+= 1
        freeSlots.append(token.slot)
        return source
    }
}

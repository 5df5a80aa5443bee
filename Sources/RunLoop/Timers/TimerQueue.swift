/// Identifies one scheduled callback, even after it has fired.
package struct Timer: Hashable, Sendable {
    let slot: Int
    let sequence: UInt64
    /// It belongs to the timers that don't wake a suspended machine.
    var isQuiet = false
}

/// Timers with tolerance, without a clock.
///
/// Each timer may fire between its deadline and its latest time. The queue asks for a wakeup at the earliest *latest
/// time*; then every timer fires whose *deadline* has passed. This greedy method needs the fewest wakeups for any set
/// of timers. Two heaps hold the two times. Cancelling only frees the slot; a heap drops dead entries when they reach
/// the top or outnumber the live ones.
struct TimerQueue {
    private struct Entry: Comparable {
        let time: Int64
        let timer: Timer

        static func == (one: Entry, other: Entry) -> Bool { one.timer.sequence == other.timer.sequence }
        // Of two equal times the one that was scheduled first comes first.
        static func < (one: Entry, other: Entry) -> Bool {
            one.time != other.time ? one.time < other.time : one.timer.sequence < other.timer.sequence
        }
    }

    private struct Slot {
        var sequence: UInt64
        var body: (() -> Void)?
    }

    /// Smaller heaps are never compacted.
    private static let smallestCompactedHeap = 64

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var byDeadline = BinaryHeap<Entry>()
    private var byLatest = BinaryHeap<Entry>()
    private var nextSequence: UInt64 = 1

    /// Number of scheduled timers that haven't fired.
    var count: Int { slots.count - freeSlots.count }

    /// Entries of both heaps, including dead ones, which use memory too.
    var entryCount: Int { byDeadline.count + byLatest.count }

    mutating func insert(deadline: Int64, latest: Int64, _ body: @escaping () -> Void) -> Timer {
        let sequence = nextSequence
        nextSequence += 1
        let timer: Timer
        if let slot = freeSlots.popLast() {
            slots[slot] = Slot(sequence: sequence, body: body)
            timer = Timer(slot: slot, sequence: sequence)
        } else {
            slots.append(Slot(sequence: sequence, body: body))
            timer = Timer(slot: slots.count - 1, sequence: sequence)
        }
        byDeadline.insert(Entry(time: deadline, timer: timer))
        byLatest.insert(Entry(time: max(deadline, latest), timer: timer))
        return timer
    }

    /// Removes the timer and returns its body; nil if it has fired or was cancelled.
    mutating func take(_ timer: Timer) -> (() -> Void)? {
        guard isAlive(timer) else { return nil }
        let body = slots[timer.slot].body
        slots[timer.slot] = Slot(sequence: 0, body: nil)
        freeSlots.append(timer.slot)
        compactIfWorthwhile()
        return body
    }

    /// The timers whose deadline has passed, in the order of their deadlines. They stay scheduled until taken, so that
    /// a timer that fires can still cancel the next one. Timers that they schedule aren't included.
    mutating func due(at now: Int64) -> [Timer] {
        var due: [Timer] = []
        while let first = byDeadline.first, first.time <= now {
            byDeadline.removeFirst()
            if isAlive(first.timer) { due.append(first.timer) }
        }
        return due
    }

    /// The earliest deadline.
    mutating func nextDeadline() -> Int64? {
        while let first = byDeadline.first {
            if isAlive(first.timer) { return first.time }
            byDeadline.removeFirst()
        }
        return nil
    }

    /// The time of the next wakeup: the earliest latest time.
    mutating func nextWakeup() -> Int64? {
        while let first = byLatest.first {
            if isAlive(first.timer) { return first.time }
            byLatest.removeFirst()
        }
        return nil
    }

    private func isAlive(_ timer: Timer) -> Bool {
        timer.slot < slots.count && slots[timer.slot].sequence == timer.sequence
    }

    private mutating func compactIfWorthwhile() {
        let limit = max(2 * count, Self.smallestCompactedHeap)
        // Copied, because a closure can't read `self` while one of its heaps is being modified.
        if byDeadline.count > limit {
            let slots = slots
            byDeadline.compact { slots[$0.timer.slot].sequence == $0.timer.sequence }
        }
        if byLatest.count > limit {
            let slots = slots
            byLatest.compact { slots[$0.timer.slot].sequence == $0.timer.sequence }
        }
    }
}

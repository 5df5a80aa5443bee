/// Names one scheduled callback, also after it has fired.
package struct Timer: Hashable, Sendable {
    let slot: Int
    let sequence: UInt64
    /// It is in the queue of those that let a suspended machine sleep.
    var isQuiet = false
}

/// Timers with tolerance, without a clock.
///
/// Each timer has a window from its deadline to the latest time at which it may fire. The queue asks to be woken at
/// the earliest *end* of all windows, and then every timer fires whose window has *begun*: greedy stabbing, which
/// meets any set of windows in the least number of wakeups. Two heaps hold the two ends; cancelling only frees the
/// slot, and a heap forgets its dead entries when they come to the top or outnumber the living.
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

    /// A heap this small is never compacted.
    private static let smallestCompactedHeap = 64

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var byDeadline = BinaryHeap<Entry>()
    private var byLatest = BinaryHeap<Entry>()
    private var nextSequence: UInt64 = 1

    /// Timers that are scheduled and have not fired.
    var count: Int { slots.count - freeSlots.count }

    /// Entries of both heaps, the dead ones too: what the bound on memory is about.
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

    /// Takes the timer out and returns what it was to run; nil when it has fired or was cancelled.
    mutating func take(_ timer: Timer) -> (() -> Void)? {
        guard isAlive(timer) else { return nil }
        let body = slots[timer.slot].body
        slots[timer.slot] = Slot(sequence: 0, body: nil)
        freeSlots.append(timer.slot)
        compactIfWorthwhile()
        return body
    }

    /// The timers whose deadline has come, in the order of their deadlines. They stay alive until taken, so that one
    /// that fires can still cancel the next; those it schedules are not among them.
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

    /// The time at which to wake: the earliest end of all windows.
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
        // Copied, because a closure may not read `self` while one of its heaps is being changed.
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

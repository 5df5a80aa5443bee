// What a call may hold that was read from a file: numbers that no version writes would overflow in what is counted on
// from them.
extension Call {
    /// Whether it can have been written by a coordinator, as far as its numbers say.
    package var isSound: Bool {
        CallRecord.numbers.contains(number) && CallRecord.attempts.contains(attempt)
            && (handler.map { WakeID.numbers.contains($0.number) } ?? true)
            && unread.count <= Call.maximumUnread && (0...unread.count).contains(fetched)
            && machine.pending.count <= CallStateMachine.maximumPendingDigits + CallAction.allCases.count
            && machine.deadlines.areSound && (1...TimelineEntry.Stage.allCases.count).contains(timeline.count)
    }
}

extension CallDeadlines {
    /// What any configuration may say, and more.
    private static let longest = Duration.seconds(400 * 86_400)

    /// Whether each can be counted with.
    fileprivate var areSound: Bool {
        [report, ring, action, connected, claim].allSatisfy { (.zero...CallDeadlines.longest).contains($0) }
    }
}

extension CallRecord {
    /// The numbers that calls get: more than a device can take in its life, and far from where counting ends.
    package static let numbers: ClosedRange<Int64> = 1...(1 << 62)
    /// How often a call may have been given to a handler.
    package static let attempts = 0...Int(Int32.max)
}

extension WakeID {
    /// The numbers that starts of handlers get.
    package static let numbers: ClosedRange<UInt64> = 0...(1 << 62)
}

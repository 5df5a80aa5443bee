// What can be read of the sessions, and the hints that follow from it.
extension AudioArbiter {
    /// The number that the next session is to be opened with.
    package var nextSessionID: AudioSessionID { AudioSessionID(number: lastNumber &+ 1) }

    /// Whether another session may be opened.
    package var hasRoom: Bool { sessions.count < AudioArbiter.maximumSessions }

    /// Whether another session, which is to be heard alone, is active and plays: what is of less weight had better be
    /// silent.
    package func secondaryAudioShouldBeSilenced(for id: AudioSessionID) -> Bool {
        if call.state.isInPlan, id != .call, activity.running.contains(.call) { return true }
        return sessions.contains { other, session in
            other != id && session.machine.state.name == .active && !session.configuration.isMixable
                && session.configuration.category.hasOutput && activity.running.contains(other)
        }
    }

    /// Whether anybody but this session's client plays.
    package func isOtherAudioPlaying(for id: AudioSessionID) -> Bool {
        activity.othersPlay || activity.running.contains { $0 != id }
    }

    /// Whether streams of the session's client run.
    package func isRunning(_ id: AudioSessionID) -> Bool { activity.running.contains(id) }

    /// Tells the active sessions in the foreground when it begins and when it ends that they had better be silent.
    mutating func tellHints(_ turn: inout Turn) {
        for id in sessions.keys.sorted() {
            guard let session = sessions[id], session.hasLease, session.machine.state.name == .active else { continue }
            let hint = secondaryAudioShouldBeSilenced(for: id)
            guard hint != session.isToldToBeSilent else { continue }
            sessions[id]?.isToldToBeSilent = hint
            turn.effects.append(.notify(id, .secondaryAudioShouldBeSilenced(hint)))
        }
    }
}

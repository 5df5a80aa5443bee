import RingwakeCore
import Testing

@Suite("Strikes and missed calls are said where they belong, and nowhere else")
struct MissedCallTests {
    /// How a call can come to its end.
    enum Way: String, CaseIterable {
        case unanswered, declined, declinedAndGone, hungUp, answeredElsewhere, declinedElsewhere, cancelled
        case remoteEndedBefore, remoteEndedAfter, failed, exitedBefore, exitedRinging, exitedAfter, notStarted,
            neverReported
        case neverConfirmed, neverAnswered, cannotAnswer, expired, tooLong
        case endedUnseenByHandler, endedUnseenByUser

        /// Whether the user is to be told that the call was missed, and what its handler is charged with.
        var expected: (isMissed: Bool, [HandlerFailure]) {
            switch self {
            case .unanswered, .cancelled, .remoteEndedBefore, .failed, .expired, .endedUnseenByHandler: (true, [])
            case .declined, .endedUnseenByUser, .hungUp, .answeredElsewhere, .declinedElsewhere, .remoteEndedAfter,
                .cannotAnswer,
                .tooLong, .declinedAndGone:
                (false, [])
            case .exitedBefore: (true, [.exited])
            // The second handler does not claim the call.
            case .exitedRinging: (true, [.exited, .didNotClaim])
            case .exitedAfter: (false, [.exited, .didNotClaim])
            case .notStarted: (true, [.didNotStart])
            case .neverReported: (true, [.didNotReport])
            case .neverConfirmed: (true, [.didNotConfirm])
            case .neverAnswered: (false, [.didNotAct])
            }
        }

        /// The state that the call is brought to before its end.
        var start: CallStateMachine.State.Name {
            switch self {
            case .notStarted, .neverReported: .woken
            case .neverConfirmed, .expired, .exitedBefore, .endedUnseenByHandler, .endedUnseenByUser: .reported
            case .neverAnswered, .cannotAnswer: .answering
            case .hungUp, .remoteEndedAfter, .exitedAfter, .tooLong: .connected
            default: .ringing
            }
        }

        func end(_ scenario: inout Scenario) -> [Effect] {
            let (key, wake) = (scenario.key(), scenario.handler())
            switch self {
            case .unanswered: return scenario.pass(.seconds(45))
            case .declined:
                return scenario.send(.declineRequested(key)) + scenario.send(.fulfilled(key, .end, by: wake))
            case .declinedAndGone: return scenario.send(.declineRequested(key)) + scenario.exit(wake)
            case .hungUp: return scenario.send(.endRequested(key)) + scenario.send(.fulfilled(key, .end, by: wake))
            case .answeredElsewhere: return scenario.receive("x", call: "one", cancel: .answeredElsewhere)
            case .declinedElsewhere: return scenario.send(.remoteEnded(key, .declinedElsewhere, by: wake))
            case .cancelled: return scenario.receive("x", call: "one", cancel: .cancelled)
            case .remoteEndedBefore, .remoteEndedAfter: return scenario.send(.remoteEnded(key, .remoteEnded, by: wake))
            case .failed: return scenario.send(.remoteEnded(key, .failed, by: wake))
            case .exitedBefore: return scenario.exit(wake)
            case .exitedRinging, .exitedAfter: return scenario.exit(wake) + scenario.pass(.seconds(5))
            case .notStarted: return scenario.send(.handlerNotStarted(wake, why: "no such file"))
            case .neverReported, .neverConfirmed: return scenario.pass(.seconds(5))
            case .neverAnswered: return scenario.pass(.seconds(10))
            case .cannotAnswer: return scenario.send(.actionFailed(key, .answer, by: wake))
            case .expired:
                scenario.wait(.seconds(45))
                return scenario.send(.ringConfirmed(key, by: wake))
            case .tooLong: return scenario.pass(.seconds(4 * 3600))
            case .endedUnseenByHandler, .endedUnseenByUser:
                return scenario.send(.endRequested(key, by: self == .endedUnseenByHandler ? wake : nil))
                    + scenario.send(.fulfilled(key, .end, by: wake))
            }
        }
    }

    @Test("Each way to the end", arguments: Way.allCases)
    func ways(way: Way) throws {
        // Only the one that expires must not end by its report deadline before.
        let deadlines = CallDeadlines(report: .seconds(way == .expired ? 60 : 5))
        var scenario = Scenario(deadlines: deadlines)
        scenario.bring(to: way.start)
        let effects = way.end(&scenario)
        let record = try #require(scenario.call()).record
        let (isMissed, failures) = way.expected
        #expect(record.state == .ended && record.isMissed == isMissed)
        #expect(effects.missed == (isMissed ? ["one"] : []))
        #expect(effects.strikes == failures)
        let after = scenario.exit(scenario.handler()) + scenario.pass(.seconds(3600))
        #expect(after.missed.isEmpty && after.strikes.isEmpty, "each is said once")
    }

    @Test("A missed call is told as it is after its end, after listeners heard of the end")
    func order() {
        var scenario = Scenario()
        scenario.bring(to: .ringing)
        let effects = scenario.pass(.seconds(45))
        guard case .callChanged(let changed) = effects.first, case .callMissed(let missed) = effects.dropFirst().first
        else {
            Issue.record("\(effects)")
            return
        }
        #expect(changed == missed && missed == scenario.call())
    }
}

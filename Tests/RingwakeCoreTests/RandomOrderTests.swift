import RingwakeCore
import Testing

@Suite("Events that no world would bring in that order")
struct RandomOrderTests {
    /// SplitMix64: the same events for the same seed, so that a failure can be repeated.
    struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    @Test(
        "At most one ring and one end for a call id; no ring at or after expiry; every call ends, every handler too",
        arguments: 0..<20)
    func invariants(seed: Int) {
        var random = Generator(state: UInt64(seed))
        var scenario = Scenario(seed % 2 == 0 ? .app : .call)
        scenario.policy.fallback = seed % 3 == 0 ? .ring : .missed
        scenario.policy.whenBusy = seed % 5 == 0 ? .reject : .ring
        scenario.policy.strikes.count = seed % 4 == 0 ? 10 : 0
        var (rings, ends): ([CallKey: Int], [CallKey: Int]) = ([:], [:])

        func check(_ effects: [Effect]) {
            for case .callChanged(let call) in effects {
                switch call.machine.state {
                // An update of a call that rings says so again, and nothing else does.
                case .ringing where call.record.time(of: .rang) == scenario.now:
                    rings[call.key, default: 0] += 1
                    #expect(scenario.now < call.machine.ringBefore)
                case .ended: ends[call.key, default: 0] += 1
                default: break
                }
            }
            #expect(scenario.coordinator.strikes(of: Scenario.app).count <= 64)
            for call in scenario.coordinator.active.values {
                #expect(!call.machine.hasEnded && call.machine.nextDeadline.map { $0 > scenario.now } == true)
            }
        }

        for _ in 0..<300 {
            // Never no time at all: by its instant a ring is told from an update.
            scenario.wait(.milliseconds(Int.random(in: 1..<1_500, using: &random)))
            check(scenario.send(randomEvent(&scenario, &random)))
        }
        var rounds = 0
        while !scenario.coordinator.lanes.isEmpty || scenario.coordinator.nextDeadline != nil, rounds < 1_000 {
            rounds += 1
            scenario.wait(.milliseconds(1))
            if let deadline = scenario.coordinator.nextDeadline {
                scenario.now = max(scenario.now, deadline)
                check(scenario.send(.deadlineReached))
            }
            let idle = scenario.coordinator.lanes.values.flatMap(\.handlers).filter { $0.value.calls.isEmpty }
            for wake in idle.map(\.key).sorted() { check(scenario.exit(wake)) }
        }
        #expect(scenario.coordinator.active.isEmpty && scenario.coordinator.lanes.isEmpty)
        #expect(!ends.isEmpty && ends.values.allSatisfy { $0 == 1 } && rings.values.allSatisfy { $0 == 1 })
    }

    private func randomEvent(_ scenario: inout Scenario, _ random: inout Generator) -> Event {
        let key = scenario.key(String(Int.random(in: 0..<12, using: &random)))
        let wake = WakeID(number: UInt64.random(in: 0..<30, using: &random))
        let owner = [wake, nil, scenario.handler(key.id.rawValue)].randomElement(using: &random) ?? nil
        let number = scenario.number(key.id.rawValue)
        let action = CallAction.allCases.randomElement(using: &random) ?? .end
        let isOn = Bool.random(using: &random)
        switch Int.random(in: 0..<27, using: &random) {
        case 0, 1, 2:
            let expirations: [VerifiedPush.Expiration?] = [
                nil, .oneAttempt, .at(scenario.now), .at(scenario.now.advanced(by: .seconds(3))),
            ]
            let expiration = expirations.randomElement(using: &random) ?? nil
            let cancel: CallEndReason? = Int.random(in: 0..<6, using: &random) == 0 ? .cancelled : nil
            let pushID = "\(key.id)-\(Int.random(in: 0..<3, using: &random))"
            let facts = PushFacts(call: key.id, cancel: cancel)
            return .pushReceived(scenario.push(pushID, expiration: expiration), facts, scenario.policy)
        case 3: return .handlerStarted(owner ?? wake, pid: 1)
        case 4: return .handlerNotStarted(wake, why: "no such file")
        case 5: return .handlerExited(wake, .exited(1))
        case 6: return .reported(key, CallUpdate(), ring: isOn, by: owner)
        case 7:
            let restriction = Int.random(in: 0..<6, using: &random) == 0 ? Restriction(.blocked, "on a list") : nil
            return .reported(key, CallUpdate(), ring: isOn, by: owner, restriction)
        case 8: return .ringConfirmed(key, by: owner)
        case 9: return .answerRequested(key)
        case 10: return Bool.random(using: &random) ? .endRequested(key) : .declineRequested(key)
        case 11: return .fulfilled(key, action, by: owner)
        case 12: return .actionFailed(key, action, by: owner)
        case 13: return .pushesFetched(wake)
        case 14: return .pushJournaled(key, number: number, isKnown: Int.random(in: 0..<6, using: &random) == 0)
        case 15, 16: return .ringJournaled(key, number: number, isKnown: Int.random(in: 0..<6, using: &random) == 0)
        case 17: return .handlerConnected(Scenario.app, isOn ? nil : owner, pid: nil, scenario.policy)
        case 18: return .handlerDisconnected(owner ?? wake)
        case 19, 20: return .claimed(key, by: owner ?? wake)
        case 21: return .holdRequested(key, isOn)
        case 22: return .muteRequested(key, isOn)
        case 23: return .digitsRequested(key, "1")
        case 24: return .cellularChanged(isActive: isOn)
        case 25 where isOn: return .policiesChanged([Scenario.app: scenario.policy])
        case 25: return Int.random(in: 0..<4, using: &random) == 0 ? .strikesCleared(Scenario.app) : .networkChanged
        default: return .remoteEnded(key, CallEndReason.reportable.randomElement(using: &random) ?? .failed, by: owner)
        }
    }
}

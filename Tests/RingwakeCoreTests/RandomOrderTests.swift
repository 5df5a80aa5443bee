import RingwakeCore
import Testing

@Suite("Whatever comes in whatever order, the coordinator's invariants hold")
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

    /// What has been seen of each call.
    struct Witness {
        var wakes = 0
        var rings = 0
        var ends = 0
        var expiration: BootInstant?
    }

    @Test(
        "At most one wake, ring and end for a call id; no ring at or after expiry; every call ends",
        arguments: 0..<200)
    func invariants(seed: Int) {
        var random = Generator(state: UInt64(seed))
        var scenario = Scenario()
        var seen: [CallKey: Witness] = [:]

        func check(_ effects: [Effect]) {
            for effect in effects {
                switch effect {
                case .wake(let request): seen[request.key, default: Witness()].wakes += 1
                case .callChanged(let call):
                    switch call.machine.state {
                    case .ringing:
                        seen[call.key, default: Witness()].rings += 1
                        if let expiration = seen[call.key]?.expiration {
                            #expect(scenario.now < expiration)
                        }
                    case .ended: seen[call.key, default: Witness()].ends += 1
                    default: break
                    }
                default: break
                }
            }
            for call in scenario.coordinator.active.values {
                #expect(!call.machine.hasEnded && call.machine.nextDeadline != nil)
            }
        }

        for _ in 0..<300 {
            let key = scenario.key(String(Int.random(in: 0..<6, using: &random)))
            scenario.wait(.milliseconds(Int.random(in: 0..<4_000, using: &random)))
            let event = randomEvent(key, &scenario, &random)
            let effects = scenario.send(event)
            if case .pushReceived(let push) = event, !effects.wakes.isEmpty, case .at(let instant) = push.expiration {
                seen[key, default: Witness()].expiration = instant
            }
            check(effects)
        }
        var rounds = 0
        while let deadline = scenario.coordinator.nextDeadline, rounds < 1_000 {
            scenario.now = max(scenario.now, deadline)
            check(scenario.send(.deadlineReached))
            rounds += 1
        }
        #expect(scenario.coordinator.active.isEmpty)
        for (key, witness) in seen {
            #expect(witness.wakes <= 1 && witness.rings <= 1 && witness.ends == witness.wakes, "\(key): \(witness)")
        }
    }

    private func randomEvent(_ key: CallKey, _ scenario: inout Scenario, _ random: inout Generator) -> Event {
        switch Int.random(in: 0..<14, using: &random) {
        case 0, 1, 2:
            let expirations: [VerifiedPush.Expiration?] = [
                nil, .oneAttempt, .at(scenario.now), .at(scenario.now.advanced(by: .seconds(3))),
            ]
            let expiration = expirations.randomElement(using: &random) ?? nil
            return .pushReceived(scenario.push(key.id.rawValue, expiration: expiration))
        case 3: return .handlerStarted(key, pid: 1)
        case 4: return .handlerNotStarted(key, why: "no such file")
        case 5: return .handlerExited(key, .exited(1))
        case 6, 7: return .reported(key, CallUpdate(), ring: Bool.random(using: &random))
        case 8: return .ringConfirmed(key)
        case 9: return .answerRequested(key)
        case 10: return Bool.random(using: &random) ? .endRequested(key) : .declineRequested(key)
        case 11: return .fulfilled(key, CallAction.allCases.randomElement(using: &random) ?? .end)
        case 12: return .actionFailed(key, CallAction.allCases.randomElement(using: &random) ?? .end)
        default: return .remoteEnded(key, CallEndReason.reportable.randomElement(using: &random) ?? .failed)
        }
    }
}

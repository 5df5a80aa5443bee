internal import RingwakeCore

/// The audio of a simulated daemon: the daemon's arbiter, with an audio server that is as the test says, and answers
/// immediately.
struct SimulatedAudio: Sendable {
    typealias Change = (call: CallKey, change: CallAudioChange)

    /// The route at first: a speaker and a microphone.
    private static let initialRoute = AudioRoute(
        inputs: [AudioPort(kind: .builtInMicrophone, device: "simulated.microphone", name: "Microphone")],
        outputs: [AudioPort(kind: .builtInSpeaker, device: "simulated.speaker", name: "Speaker")])

    private var arbiter = AudioArbiter()
    private var needs = CallAudioNeeds.none
    /// Whether the engine runs: it holds the connection to the server.
    private var hasEngine = false
    private var server = SimulatedAudioServer.available
    private var route = Self.initialRoute

    /// When ``meetDeadline(at:)`` is due.
    var nextDeadline: BootInstant? { arbiter.nextDeadline }

    /// The daemon ended. The machine keeps its devices and its server.
    mutating func stop() {
        arbiter = AudioArbiter()
        needs = .none
        hasEngine = false
    }

    /// Follows the calls.
    mutating func follow(_ coordinator: CoordinatorStateMachine, at now: BootInstant) -> [Change] {
        let new = coordinator.audioNeeds(after: needs) { _ in [] }
        guard new != needs else { return [] }
        needs = new
        return handle(.calls(new), at: now)
    }

    mutating func meetDeadline(at now: BootInstant) -> [Change] { handle(.deadlineReached, at: now) }

    /// Changes what is plugged in.
    mutating func move(to new: AudioRoute, _ reason: AudioRouteChangeReason, at now: BootInstant) -> [Change] {
        let previous = route
        guard new != previous else { return [] }
        route = new
        guard hasEngine, server.isThere else { return [] }
        return handle(.reported(.routeChanged(reason, previous: previous, current: new)), at: now)
    }

    /// Changes what the server does.
    mutating func change(to new: SimulatedAudioServer, at now: BootInstant) -> [Change] {
        let wasThere = server.isThere
        server = new
        guard hasEngine, new.isThere != wasThere else { return [] }
        return handle(.reported(new.isThere ? connected : .lost("simulated")), at: now)
    }

    private var connected: AudioEngineReport {
        .connected(AudioServerDescription(name: "simulated", version: "1", location: "simulated"), route)
    }

    /// Applies an event and what the engine reports because of it.
    private mutating func handle(_ event: AudioEvent, at now: BootInstant) -> [Change] {
        var changes: [Change] = []
        var events = [event]
        while !events.isEmpty {
            for effect in arbiter.handle(events.removeFirst(), at: now) {
                switch effect {
                case .call(let call, let change): changes.append((call, change))
                case .startEngine:
                    hasEngine = true
                    events.append(.reported(.ready(version: "simulated", mended: 0)))
                    events.append(.reported(server.isThere ? connected : .unavailable("simulated")))
                case .stopEngine:
                    hasEngine = false
                    events = []
                case .send(.apply(let number, let plan, resumes: _)):
                    events.append(.reported(answer(to: plan, number)))
                // Calls need no other request, and there are no clients with sessions of their own.
                case .send, .notify, .answer, .answerChoice, .refused, .problem: break
                }
            }
        }
        return changes
    }

    private func answer(to plan: AudioPlan, _ number: UInt64) -> AudioEngineReport {
        // What undoes everything is never refused.
        if case .refusing(let error) = server, !plan.isEmpty { return .refused(number: number, error) }
        return .applied(number: number, AudioApplied(route: route))
    }
}

extension SimulatedAudioServer {
    fileprivate var isThere: Bool { if case .gone = self { false } else { true } }
}

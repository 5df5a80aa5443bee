import RingwakeCore
import Testing

@Suite("A second session becomes active: every cell of the matrix")
struct AudioMatrixTests {
    /// What becomes of the first session, and of the second.
    struct Cell: CustomTestStringConvertible {
        let first: AudioSessionConfiguration
        let second: AudioSessionConfiguration
        let name: String
        var interrupted = false
        var ducked = false

        var testDescription: String { name }
    }

    static let cells: [Cell] = {
        let firsts: [(String, AudioSessionConfiguration, isMixable: Bool)] = [
            ("mixable", .mixable, true), ("mixable speech", .mixableSpeech, true),
            ("ambient", configuration(.ambient), true), ("media", .music, false), ("speech", .speech, false),
            ("alone, ambient", configuration(.soloAmbient), false), ("recording", .recording, false),
            ("chat", .chat, false), ("recording, mixable", .mixableRecording, true),
        ]
        let seconds: [(String, AudioSessionConfiguration)] = [
            ("mixable", .mixable), ("ducking", .ducking), ("interrupting speech", .interruptingSpeech),
            (
                "interrupting speech and ducking",
                configuration(.playback, .default, [.interruptSpokenAudioAndMixWithOthers, .duckOthers])
            ),
            ("media", .music), ("recording", .recording), ("chat", .chat), ("recording, mixable", .mixableRecording),
        ]
        var cells: [Cell] = []
        for (firstName, first, isMixable) in firsts {
            for (secondName, second) in seconds {
                var cell = Cell(first: first, second: second, name: "\(firstName), then \(secondName)")
                switch secondName {
                case "media", "recording", "chat": cell.interrupted = !isMixable
                case "ducking": cell.ducked = true
                case "interrupting speech": cell.interrupted = first.mode == .spokenAudio
                case "interrupting speech and ducking":
                    cell.interrupted = first.mode == .spokenAudio
                    cell.ducked = !cell.interrupted
                default: break
                }
                cells.append(cell)
            }
        }
        return cells
    }()

    @Test("Two sessions of clients", arguments: cells)
    func clients(cell: Cell) {
        var scenario = AudioScenario()
        let first = scenario.openActive(cell.first)
        let second = scenario.open(cell.second)
        let effects = scenario.activate(second)
        #expect(effects.answers(to: second).last?.isSuccess == true && scenario.state(second) == .active)
        #expect(scenario.state(first) == (cell.interrupted ? .interrupted : .active))
        #expect(effects.notices(to: first) == (cell.interrupted ? [.interruptionBegan(.default)] : []))
        let plan = scenario.arbiter.planInForce
        #expect(plan.ducked.keys.sorted() == (cell.ducked ? [first] : []))
        #expect(plan.silenced.keys.sorted() == (cell.interrupted ? [first] : []))
        #expect(scenario.arbiter.duckers(of: first) == (cell.ducked ? [second] : []))
        if !cell.interrupted, cell.first.category.hasInput {
            #expect(plan.sessions.first { $0.id == first }?.isInputOpen == true, "input untouched")
        }
        let after = scenario.deactivate(second).notices(to: first)
        #expect(after == (cell.interrupted ? [.interruptionEnded(shouldResume: true)] : []))
        #expect(scenario.arbiter.planInForce.ducked.isEmpty)
    }

    static let sessionsBesideCall: [(AudioSessionConfiguration, isAllowed: Bool)] = [
        (.mixable, true), (.ducking, true), (.interruptingSpeech, true), (configuration(.ambient), true),
        (.mixableRecording, true), (.music, true), (.speech, true),
        (configuration(.soloAmbient), false), (.recording, false), (.chat, false), (configuration(.multiRoute), false),
    ]

    @Test(
        "Beside a call: what is mixable plays, and playback; ducked, without the microphone; all else is '!pri'",
        arguments: sessionsBesideCall)
    func besideCall(asked: AudioSessionConfiguration, isAllowed: Bool) {
        var scenario = AudioScenario()
        scenario.call()
        let id = scenario.open(asked)
        let effects = scenario.activate(id)
        #expect(scenario.arbiter.activeCalls == [AudioScenario.key()] && effects.calls.isEmpty)
        guard isAllowed else {
            #expect(effects.failures(of: id) == [.insufficientPriority] && scenario.state(id) == .inactive)
            return
        }
        #expect(scenario.state(id) == .active)
        let plan = scenario.arbiter.planInForce
        #expect(plan.sessions.map(\.id) == [.call, id] && plan.ducked.keys.sorted() == [id])
        #expect(plan.sessions.last?.isInputOpen == false && plan.sessions.first?.isInputOpen == true)
        scenario.hangUp()
        let alone = scenario.arbiter.planInForce
        #expect(scenario.state(id) == .active && alone.ducked.isEmpty)
        #expect(alone.sessions.first?.isInputOpen == asked.category.hasInput, "the microphone after the call")
    }

    static let sessionsBefore: [AudioSessionConfiguration] = [
        .mixable, .ducking, .music, .speech, .recording, .chat, .mixableRecording, configuration(.ambient),
    ]

    @Test("A call interrupts every session that is active, what is mixable too", arguments: sessionsBefore)
    func callInterrupts(configuration: AudioSessionConfiguration) {
        var scenario = AudioScenario()
        let id = scenario.openActive(configuration)
        #expect(scenario.call().notices(to: id) == [.interruptionBegan(.default)])
        #expect(scenario.arbiter.planInForce.silenced.keys.sorted() == [id])
        #expect(scenario.hangUp().notices(to: id) == [.interruptionEnded(shouldResume: true)])
        #expect(scenario.state(id) == .interrupted)
    }

    @Test("By the user's settings it ducks them instead, and leaves their microphone alone", arguments: sessionsBefore)
    func callDucks(configuration: AudioSessionConfiguration) {
        var settings = CallAudioSettings()
        settings.others = .duck
        var scenario = AudioScenario(settings)
        let id = scenario.openActive(configuration)
        #expect(scenario.call().notices(to: id).isEmpty && scenario.state(id) == .active)
        let plan = scenario.arbiter.planInForce
        #expect(plan.ducked.keys.sorted() == [id] && plan.sessions.first?.others == .duck)
        #expect(plan.sessions.last?.isInputOpen == configuration.category.hasInput)
        scenario.hangUp()
        #expect(scenario.arbiter.planInForce.ducked.isEmpty && scenario.state(id) == .active)
    }

    @Test("Or leaves them alone", arguments: sessionsBefore)
    func callLeaves(configuration: AudioSessionConfiguration) {
        var settings = CallAudioSettings()
        settings.others = .leave
        var scenario = AudioScenario(settings)
        let id = scenario.openActive(configuration)
        scenario.call()
        #expect(scenario.state(id) == .active && scenario.arbiter.planInForce.ducked.isEmpty)
    }

    @Test("What a session does to those who cannot be told follows from its configuration")
    func others() {
        let expected: [(AudioSessionConfiguration, AudioPlan.Others)] = [
            (.music, .interrupt), (.recording, .interrupt), (.chat, .interrupt), (.mixable, .leave),
            (.ducking, .duck), (.interruptingSpeech, .leave), (configuration(.ambient), .leave),
            (configuration(.soloAmbient), .interrupt),
        ]
        for (configuration, others) in expected {
            var scenario = AudioScenario()
            _ = scenario.openActive(configuration)
            #expect(scenario.arbiter.planInForce.sessions.map(\.others) == [others])
        }
    }

    @Test("Two that duck: counted by owner, and gone with the last; the later one is not ducked by the first")
    func twoDucking() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.mixable)
        let first = scenario.openActive(.ducking)
        let second = scenario.openActive(.ducking)
        #expect(scenario.arbiter.duckers(of: music) == [first, second])
        #expect(scenario.arbiter.planInForce.ducked.keys.sorted() == [music, first])
        scenario.deactivate(second)
        #expect(scenario.arbiter.planInForce.ducked.keys.sorted() == [music])
        let late = scenario.openActive(.mixable)
        #expect(scenario.arbiter.planInForce.ducked.keys.sorted() == [music, late])
        scenario.deactivate(first)
        #expect(scenario.arbiter.planInForce.ducked.isEmpty)
    }

    @Test("The session whose route counts: the call, what records or plays alone, what is mixable; the newest first")
    func order() {
        var settings = CallAudioSettings()
        settings.others = .duck
        var scenario = AudioScenario(settings)
        let music = scenario.openActive(.music)
        let mixable = scenario.openActive(.mixable)
        let newer = scenario.openActive(.mixable)
        let recording = scenario.openActive(.mixableRecording)
        #expect(scenario.arbiter.planInForce.sessions.map(\.id) == [recording, music, newer, mixable])
        scenario.call()
        #expect(scenario.arbiter.planInForce.sessions.first?.id == .call)
    }
}

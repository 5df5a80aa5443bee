import RingwakeCore
import Testing

@Suite("More pushes of a call: repeats, updates, and other senders' pushes with the same id")
struct DuplicatePushTests {
    static let uuid = "8C1F5E5B-0A6D-4C55-9D1C-3A1B5E0F7A11"

    @Test("A repeat of the push starts nothing, while the call waits, runs and after it ended, in either case")
    func sameAPNSID() {
        var scenario = Scenario()
        let id = DuplicatePushTests.uuid.lowercased()
        scenario.receive(DuplicatePushTests.uuid)
        scenario.journal(id)
        for step in ["woken", "ringing", "ended"] {
            if step == "ringing" {
                scenario.report(id, ring: true)
                scenario.journalRing(id)
            }
            if step == "ended" {
                scenario.send(.remoteEnded(scenario.key(id), .remoteEnded, by: scenario.handler(id)))
            }
            let before = scenario.coordinator
            for spelling in [id, DuplicatePushTests.uuid] {
                let push = scenario.push(spelling)
                let effects = scenario.receive(push)
                #expect(effects.count == 2 && effects.outcomes == [.duplicate], "\(step)")
                #expect(effects.last == .pushIgnored(push, scenario.key(id), .duplicate))
                #expect(effects.journaled.first?.payload.isEmpty == true)
                #expect(scenario.coordinator == before, "\(step)")
            }
        }
    }

    @Test("A repeat of the push whose payload names the call is a repeat too")
    func sameAPNSIDWithCallID() {
        var scenario = Scenario()
        scenario.receive("push-a", call: "call")
        scenario.journal("call")
        #expect(scenario.receive("PUSH-A", call: "call").outcomes == [.duplicate])
        #expect(scenario.call("call")?.pushes.unread.isEmpty == true)
    }

    @Test("Another push of a running call updates it: no second wake, no second ring, and the handler is told")
    func update() {
        var scenario = Scenario()
        scenario.receive("push-a", call: "call", update: CallUpdate(caller: "sip:alice@example.org"))
        scenario.journal("call")
        let wake = scenario.handler("call")
        scenario.report("call", ring: true)
        scenario.journalRing("call")
        let effects = scenario.receive("push-b", call: "call", update: CallUpdate(callerName: "Alice"), payload: "{2}")
        #expect(effects.outcomes == [.updated] && effects.states == ["ringing"] && effects.wakes.isEmpty)
        #expect(effects.last == .pushWaits(wake, scenario.key("call"), .update) && effects.count == 3)
        #expect(
            scenario.call("call")?.update == CallUpdate(caller: "sip:alice@example.org", callerName: "Alice"))
        let requests = scenario.send(.pushesFetched(wake)).handedOver ?? []
        #expect(requests.map(\.kind) == [.update] && requests.map(\.payload) == [Array("{2}".utf8)])
        #expect(scenario.send(.pushesFetched(wake)).handedOver == [])
        #expect(scenario.state("call")?.name == .ringing)
    }

    @Test("A repeat of an update changes nothing: its handler is given it once")
    func repeatedUpdate() {
        var scenario = Scenario()
        scenario.receive("push-a", call: "call")
        scenario.journal("call")
        #expect(scenario.receive("push-b", call: "call").outcomes == [.updated])
        scenario.send(.pushesFetched(scenario.handler("call")))
        let before = scenario.coordinator
        let effects = scenario.receive("PUSH-B", call: "call", update: CallUpdate(callerName: "Late"))
        // Whether that update is durable nobody knows here; if it is not, it is recorded as what it was.
        #expect(effects.count == 2 && effects.outcomes == [.updated] && scenario.coordinator == before)
        #expect(effects.last == .pushIgnored(scenario.push("PUSH-B"), scenario.key("call"), .duplicate))
    }

    @Test("Of many unread pushes the first and the newest stay")
    func boundedUnread() {
        var scenario = Scenario(.app)
        scenario.bring("busy", to: .connected)
        scenario.receive("first", call: "call", payload: "{0}")
        for number in 1...20 {
            scenario.receive("push-\(number)", call: "call", payload: "{\(number)}")
        }
        let requests = scenario.send(.pushesFetched(scenario.handler("busy"))).handedOver ?? []
        #expect(
            requests.map { String(decoding: $0.payload, as: UTF8.self) }
                == ["{0}", "{14}", "{15}", "{16}", "{17}", "{18}", "{19}", "{20}"])
        #expect(requests.map(\.kind) == [.call] + Array(repeating: .update, count: 7))
    }

    @Test("After the end a push of the call changes nothing, whatever its apns-id: no second ring")
    func pushAfterEnd() {
        var scenario = Scenario()
        scenario.receive("push-a", call: "call")
        scenario.journal("call")
        scenario.exit(scenario.handler("call"))
        let before = scenario.coordinator
        let effects = scenario.receive("push-b", call: "call")
        #expect(effects.outcomes == [.duplicate] && effects.journaled.first?.call == nil && effects.wakes.isEmpty)
        #expect(scenario.coordinator == before)
    }

    @Test("Another team's push with the same id is another call: it can neither end nor silence this one")
    func otherTeam() {
        var scenario = Scenario()
        scenario.bring("call", to: .ringing)
        let other = scenario.receive("call", team: "OTHERTEAM1")
        #expect(other.wakes.count == 1 && other.outcomes == [.started])
        #expect(other.wakes.first?.call != CallID("call"))
        let cancel = scenario.receive("x", call: "call", cancel: .cancelled, team: "OTHERTEAM1")
        #expect(cancel.outcomes == [.cancelled])
        #expect(scenario.state("call")?.name == .ringing)
        #expect(scenario.receive("call", team: "OTHERTEAM1").outcomes == [.started], "not journaled before")
        #expect(scenario.receive("x2", call: "call", cancel: .cancelled).outcomes == [.cancelled])
        #expect(scenario.state("call")?.endReason == .cancelled)
    }

    @Test("No team can take the name that another team's call is given where ids collide")
    func otherTeamGuessesTheName() {
        var scenario = Scenario()
        scenario.receive("a", call: "call")
        let name = scenario.receive("b", call: "call", team: "OTHERTEAM1").wakes.first?.call.rawValue
        var attacked = Scenario()
        attacked.receive("a", call: "call")
        attacked.receive("c", call: name)
        let effects = attacked.receive("b", call: "call", team: "OTHERTEAM1")
        #expect(effects.wakes.count == 1 && effects.outcomes == [.started])
        let third = attacked.receive("d", call: "call", team: "THIRDTEAM1")
        #expect(third.wakes.count == 1 && third.wakes.first?.call != effects.wakes.first?.call)
    }
}

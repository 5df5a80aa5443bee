import ControlProtocol
import Testing

@testable import RingwakeKit

@Suite("Session: calls")
struct SessionCallTests {
    /// Whether the app may answer this action of the call `c1`.
    private func isAsked(_ bench: inout SessionBench, _ number: UInt64) -> Bool {
        bench.session.calls.beginAnswer("c1", number)
    }

    @Test("a push is told once, and again for another attempt")
    func pushes() throws {
        var bench = try SessionBench.open()
        #expect(try bench.hear(wake("c1")) == ["push call c1 1"])
        #expect(try bench.hear(wake("c1")) == [])
        #expect(try bench.hear(wake("c1", kind: "update")) == ["push update c1 1"])
        #expect(try bench.hear(wake("c1", attempt: 2)) == ["push call c1 2"])
    }

    @Test("a change is told once, and an end once, over streams")
    func changes() throws {
        var bench = try SessionBench.open(wake("c1"))
        #expect(try bench.hear(call("c1", 3, "ringing")) == ["c1 ringing own"])
        #expect(try bench.hear(call("c1", 3, "ringing")) == [])
        let ended = call("c1", 3, "ended", #","endReason":"cancelled""#)
        #expect(try bench.hear(ended) == ["c1 ended cancelled"])
        #expect(bench.session.calls.inProgress.isEmpty)
        _ = try bench.hear(call("c0", 2, "ringing"))
        // The stream begins with all ends from the lowest number on.
        _ = try bench.hear(call("c4", 4, "ended", #","endReason":"failed""#))
        #expect(try bench.restart().contains("open since=2 secret=given"))
        #expect(try bench.hear(call("c4", 4, "ended", #","endReason":"failed""#)) == [])
    }

    @Test("a call that ended while the daemon was away is told by the new stream, or by asking")
    func endedMeanwhile() throws {
        var bench = try SessionBench.open(wake("c1"), wake("c2"), call("c1", 1, "ringing"), call("c2", 2, "connected"))
        #expect(try bench.restart().suffix(2) == ["look up c1", "look up c2"])
        #expect(try bench.hear(call("c1", 1, "ended", #","endReason":"unanswered""#)) == ["c1 ended unanswered"])
        #expect(said(bench.session.calls.lookedUp("c1", nil)) == [])
        #expect(said(bench.session.calls.lookedUp("c2", nil)) == ["c2 ended failed"])
        #expect(try bench.hear(call("c2", 2, "ended", #","endReason":"unanswered""#)) == [])
    }

    /// The status of the call `c1` in an answer.
    private func status(_ state: String, reason: String? = nil) throws -> CallStatus {
        let message: CallMessage = try JSONText.read(Array(callMessage(state, reason: reason).utf8), "a call")
        return CallStatus(message)
    }

    @Test("an answer that is older than the stream changes nothing but an end")
    func lookedUp() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected"))
        let older = try status("ringing")
        #expect(said(bench.session.calls.lookedUp("c1", older)) == [])
        #expect(bench.session.calls.inProgress.first?.state == .connected)
        let over = try status("ended", reason: "remoteEnded")
        #expect(said(bench.session.calls.lookedUp("c1", over)) == ["c1 ended remoteEnded"])
    }

    @Test("a call of this process that lost its handler is claimed, once")
    func claimed() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected"))
        _ = try bench.restart()
        let lost = call("c1", 1, "connected", #","claimMs":4800"#)
        #expect(try bench.hear(lost) == ["claim c1"])
        #expect(try bench.hear(lost) == [])
        #expect(try bench.hear(wake("c1", kind: "claim", attempt: 2)) == [])
        #expect(try bench.hear(call("c1", 1, "connected")) == ["c1 claimed"])
        #expect(said(bench.session.calls.claimFailed("c1")) == [])
    }

    @Test("what is owed is asked for anew after a claim, and not told again")
    func owedAfterClaim() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected"), action("c1", "hold"))
        #expect(try bench.hear(call("c1", 1, "connected", #","claimMs":4800"#)) == ["claim c1"])
        #expect(try bench.hear(call("c1", 1, "connected")) == ["c1 claimed"])
        #expect(try bench.hear(action("c1", "hold")) == [])
    }

    @Test("a claim that was under way when the stream broke is made on the next")
    func claimBroken() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected"))
        let lost = call("c1", 1, "connected", #","claimMs":4800"#)
        #expect(try bench.hear(lost) == ["claim c1"])
        _ = try bench.restart()
        #expect(try bench.hear(lost) == ["claim c1"])
    }

    @Test("a claim that fails is looked after, and made again when the call is lost again")
    func claimFails() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected"))
        let lost = call("c1", 1, "connected", #","claimMs":4800"#)
        #expect(try bench.hear(lost) == ["claim c1"])
        #expect(said(bench.session.calls.claimFailed("c1")) == ["look up c1"])
        #expect(try bench.hear(lost) == ["claim c1"])
    }

    @Test("a call of another process is the app's to claim, and is told so once")
    func othersCall() throws {
        var bench = try SessionBench.open()
        let lost = call("c1", 1, "ringing", #","claimMs":4800"#)
        #expect(try bench.hear(lost) == ["c1 ringing", "c1 lost 4"])
        #expect(try bench.hear(wake("c1", kind: "claim")) == ["push claim c1 1"])
        #expect(try bench.hear(wake("c1", kind: "claim")) == [])
        let owning = bench.session.calls.beginOwning("c1", isClaim: true)
        #expect(try bench.hear(lost) == [])
        #expect(try bench.hear(call("c1", 1, "ringing")) == ["c1 claimed"])
        #expect(try bench.hear(action("c1", "answer")) == ["action c1 answer #1"])
        bench.session.calls.endOwning("c1", owning, isOthers: false)
        #expect(bench.session.calls.inProgress.first?.isOwn == false)
    }

    @Test("a call whose push came here is not the app's once the daemon says that it is another handler's")
    func givenToAnother() throws {
        var bench = try SessionBench.open()
        #expect(try bench.hear(wake("c1", kind: "call")) == ["push call c1 1"])
        #expect(try bench.hear(call("c1", 1, "ringing")) == ["c1 ringing own"])
        let owning = bench.session.calls.beginOwning("c1", isClaim: false)
        // A report that fails otherwise changes nothing about that.
        bench.session.calls.endOwning("c1", owning, isOthers: false)
        #expect(bench.session.calls.inProgress.first?.isOwn == true)
        // Nor does one that fails because a restarted daemon waits for a claim.
        #expect(try bench.hear(call("c1", 1, "ringing", #","claimMs":4800"#)) == ["claim c1"])
        bench.session.calls.endOwning("c1", owning, isOthers: true)
        #expect(bench.session.calls.inProgress.first?.isOwn == true)
        #expect(try bench.hear(call("c1", 1, "ringing")) == ["c1 claimed"])
        bench.session.calls.endOwning("c1", owning, isOthers: true)
        #expect(bench.session.calls.inProgress.first?.isOwn == false)
        #expect(try bench.hear(action("c1", "answer")) == [])
    }

    @Test("what is asked of a call that the app has just reported is told, also before the stream tells of it")
    func reportedFirst() throws {
        var bench = try SessionBench.open()
        _ = bench.session.calls.beginOwning("c1", isClaim: false)
        #expect(try bench.hear(call("c1", 1, "ringing")) == ["c1 ringing own"])
        #expect(try bench.hear(action("c1", "answer")) == ["action c1 answer #1"])
    }

    @Test("actions of another process's call are not told")
    func othersActions() throws {
        var bench = try SessionBench.open(call("c1", 1, "ringing"))
        #expect(try bench.hear(action("c1", "answer")) == [])
    }

    @Test("an action that is owed is told once, over streams")
    func owedActions() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "answering"))
        #expect(try bench.hear(action("c1", "answer")) == ["action c1 answer #1"])
        _ = try bench.restart()
        _ = try bench.hear(call("c1", 1, "answering"))
        #expect(try bench.hear(action("c1", "answer")) == [])
        #expect(try bench.hear(action("c1", "end")) == ["action c1 end #2"])
    }

    @Test("an action that was asked for again after its time is told again")
    func askedAgain() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected"))
        #expect(try bench.hear(action("c1", "hold")) == ["action c1 hold #1"])
        #expect(try bench.hear(action("c1", "hold")) == ["action c1 hold #2"])
        #expect(isAsked(&bench, 1) == false)
        #expect(isAsked(&bench, 2))
    }

    @Test("an action that is asked for anew after the new stream's beginning is told, though one of its kind was owed")
    func askedAfterBeginning() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected"), action("c1", "hold"))
        _ = try bench.restart()
        _ = try bench.hear(call("c1", 1, "connected"))
        _ = try bench.hear(call("c2", 2, "ringing"))
        #expect(try bench.hear(action("c1", "hold")) == ["action c1 hold #2"])
    }

    @Test("digits that are owed are told once, in their order, and new ones behind them")
    func digits() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected"))
        #expect(try bench.hear(action("c1", "dtmf", digits: "5")) == ["action c1 dtmf 5 #1"])
        #expect(try bench.hear(action("c1", "dtmf", digits: "5")) == ["action c1 dtmf 5 #2"])
        _ = try bench.restart()
        _ = try bench.hear(call("c1", 1, "connected"))
        #expect(try bench.hear(action("c1", "dtmf", digits: "5")) == [])
        #expect(try bench.hear(action("c1", "dtmf", digits: "5")) == [])
        #expect(try bench.hear(action("c1", "dtmf", digits: "5")) == ["action c1 dtmf 5 #3"])
    }

    @Test("an action that names another call is told with it, and a call of a conference says so until it ends")
    func conference() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected", #","supportsMerge":true"#))
        #expect(try bench.hear(action("c1", "merge", with: "c2")) == ["action c1 merge with c2 #1"])
        _ = try bench.hear(call("c1", 1, "connected", #","conference":3,"supportsMerge":true"#))
        #expect(
            bench.session.calls.inProgress.first?.conference == 3
                && bench.session.calls.inProgress.first?.supportsMerging == true)
        _ = try bench.hear(call("c1", 1, "connected"))
        #expect(
            bench.session.calls.inProgress.first?.conference == nil
                && bench.session.calls.inProgress.first?.supportsMerging == false)
    }

    @Test("an answer that was fulfilled, and that the daemon lost, is fulfilled again without the app")
    func fulfilledBefore() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "answering"))
        _ = try bench.hear(action("c1", "answer"))
        #expect(isAsked(&bench, 1))
        #expect(isAsked(&bench, 1) == false)
        bench.session.calls.endAnswer("c1", 1, .fulfilled)
        _ = try bench.restart()
        _ = try bench.hear(call("c1", 1, "answering"))
        #expect(try bench.hear(action("c1", "answer")) == ["again c1 answer"])
    }

    @Test("an answer of which nobody knows may be given again; one that was refused not")
    func answerOutcomes() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected"))
        _ = try bench.hear(action("c1", "hold"))
        #expect(isAsked(&bench, 1))
        bench.session.calls.endAnswer("c1", 1, .unknown)
        #expect(isAsked(&bench, 1))
        bench.session.calls.endAnswer("c1", 1, .over)
        #expect(isAsked(&bench, 1) == false)
    }

    @Test("what was pushed to this process at its start is looked after on its first stream")
    func initialPush() throws {
        var bench = SessionBench(secret: "start")
        let push = try IncomingPush(json: Array(push("c1").utf8))
        #expect(said(bench.session.calls.take(push)) == ["push call c1 1"])
        _ = bench.session.start()
        #expect(try bench.hear(hello(secret: nil)).last == "look up c1")
    }
}

import Testing

@testable import RingwakeKit

@Suite("Session: the audio of calls")
struct SessionAudioTests {
    @Test("an activation is told once, its end once, and changes of its route in between")
    func toldOnce() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected"))
        #expect(try bench.hear(audio("c1", "Deactivated", 0)) == [])
        #expect(try bench.hear(audio("c1", "Activated", 1, route("speaker"))) == ["c1 audio on speaker"])
        #expect(try bench.hear(audio("c1", "Activated", 1, route("speaker"))) == [])
        let moved = audio(
            "c1", "RouteChanged", 1,
            route("headset") + route("speaker", as: "previous") + #","changeReason":"override""#)
        #expect(try bench.hear(moved) == ["c1 audio route override headset"])
        #expect(try bench.hear(audio("c1", "Deactivated", 1)) == ["c1 audio off"])
        #expect(try bench.hear(audio("c1", "Deactivated", 1)) == [])
        #expect(try bench.hear(moved) == [])
    }

    @Test("a call without a microphone says so, until one is connected")
    func listening() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected"))
        let deaf = #"{"inputs":[],"outputs":[{"kind":"usb","device":"speaker"}],"isInputAvailable":false}"#
        let active = try bench.hear(audio("c1", "Activated", 1, #","route":"# + deaf))
        #expect(active == ["c1 audio on speaker without microphone"])
        let plugged = route("speaker") + #","previous":"# + deaf + #","changeReason":"newDeviceAvailable""#
        #expect(
            try bench.hear(audio("c1", "RouteChanged", 1, plugged)) == ["c1 audio route newDeviceAvailable speaker"])
    }

    @Test("a failure ends what was active, and its code is known, or unspecified")
    func failed() throws {
        var bench = try SessionBench.open(wake("c1"), call("c1", 1, "connected"))
        let failed = audio("c1", "Failed", 0, #","code":"mediaServicesFailed","codeNumber":1,"message":"none""#)
        #expect(try bench.hear(failed) == ["c1 audio failed mediaServicesFailed"])
        _ = try bench.hear(audio("c1", "Activated", 1, route("speaker")))
        let later = audio("c1", "Failed", 1, #","code":"ofALaterVersion","codeNumber":1,"message":"none""#)
        #expect(try bench.hear(later) == ["c1 audio off", "c1 audio failed unspecified"])
    }

    @Test("after a restart of the daemon the former activation ends before the next begins")
    func restarted() throws {
        var bench = try SessionBench.open(
            wake("c1"), call("c1", 1, "connected"), audio("c1", "Activated", 1, route("speaker")))
        #expect(try bench.restart().filter { $0.contains("audio") } == [])
        _ = try bench.hear(call("c1", 1, "connected"))
        #expect(
            try bench.hear(audio("c1", "Activated", 2, route("speaker"))) == ["c1 audio off", "c1 audio on speaker"])
        _ = try bench.restart()
        #expect(try bench.hear(audio("c1", "Activated", 2, route("speaker"))) == [], "it was active all the time")
        _ = try bench.restart()
        #expect(try bench.hear(audio("c1", "Deactivated", 2)) == ["c1 audio off"])
    }

    @Test("audio of a call that ended while nobody listened ends with it")
    func endedMeanwhile() throws {
        for isStillKnown in [true, false] {
            var bench = try SessionBench.open(
                wake("c1"), call("c1", 1, "connected"), audio("c1", "Activated", 1, route("speaker")))
            if !isStillKnown {
                #expect(
                    try bench.hear(call("c1", 1, "ended", #","endReason":"localEnded""#)) == ["c1 ended localEnded"],
                    "what ends it follows in the same stream")
            }
            let restarted = try bench.restart().filter { $0.contains("audio") }
            #expect(restarted == (isStillKnown ? [] : ["c1 audio off"]))
            guard isStillKnown else { continue }
            #expect(
                try bench.hear(call("c1", 1, "ended", #","endReason":"localEnded""#)) == [
                    "c1 audio off", "c1 ended localEnded",
                ])
        }
    }

    @Test("a line about audio does not hide that what is owed was told before")
    func owedStaysKnown() throws {
        var bench = try SessionBench.open(
            wake("c1"), call("c1", 1, "connected"), action("c1", "hold"), audio("c1", "Activated", 1, route("speaker")))
        _ = try bench.restart()
        _ = try bench.hear(call("c1", 1, "connected"))
        #expect(try bench.hear(action("c1", "hold")) == [])
    }
}

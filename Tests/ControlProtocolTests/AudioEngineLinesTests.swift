import ControlProtocol
import FoundationEssentials
import RingwakeCore
import Testing

struct AudioEngineLinesTests {
    private static let route = AudioRoute(
        inputs: [AudioPort(kind: .builtInMicrophone, device: "mic", name: "Mic")],
        outputs: [AudioPort(kind: .headphones, device: "card", port: "analog-output", name: "Köpfhörer\n\u{1B}[0m")])

    private static func plan() throws -> AudioPlan {
        let configuration = try AudioSessionConfiguration(
            .playAndRecord, mode: .voiceChat, options: [.duckOthers], preferredOutput: "headphones")
        let session = AudioPlan.Session(
            id: AudioSessionID(number: 3), client: AudioClient(processes: [7, 8], name: "a phone"),
            configuration: configuration, others: .duck, isInputOpen: true, isCall: true)
        return AudioPlan(
            sessions: [session],
            silenced: [AudioSessionID(number: 4): AudioClient(processes: [9], name: "b")],
            ducked: [AudioSessionID(number: .max): AudioClient(name: "c")], exempt: [1, 2])
    }

    private static func requests() throws -> [AudioEngineRequest] {
        [
            .prepare(try plan()), .apply(number: 1, AudioPlan(), resumes: true),
            .apply(number: .max, try plan(), resumes: false), .chooseOutput("speaker"), .chooseOutput(nil),
            .chooseOutput("speaker", number: .max), .chooseOutput(nil, number: 1), .wokeFromSleep,
        ]
    }

    private static let reports: [AudioEngineReport] = [
        .ready(version: "1", mended: 2), .effects(count: 3, isRestoring: true),
        .connected(AudioServerDescription(name: "pulseaudio", version: "16", location: "here"), route),
        .unavailable("none"), .lost("gone"),
        .applied(number: 1, AudioApplied(route: route, busy: [AudioSessionID(number: 2)], made: 3)),
        .refused(number: 2, AudioSessionError(.cannotStartRecording, "no microphone")),
        .outputChosen(number: .max, isKnown: false),
        .routeChanged(.newDeviceAvailable, previous: AudioRoute(isInputAvailable: false), current: route),
        .routeDisconnected,
        .microphoneMuted(true), .activity(running: [AudioSessionID(number: 2)], othersPlay: false),
        .problem("a line\nand another"),
    ]

    @Test("each request is one line, and comes back as it was")
    func requests() throws {
        for request in try Self.requests() {
            let line = AudioEngineLine.encoded(request)
            #expect(line.last == 10 && !line.dropLast().contains(10))
            #expect(try AudioEngineLine.request(Array(line.dropLast())) == request)
        }
    }

    @Test("a route of an earlier version has an input available, and one of this says only where there is none")
    func routes() throws {
        let text =
            #"{"routeChanged":{"_0":"unknown","previous":{"inputs":[],"outputs":[]},"current":{"inputs":[],"outputs":[]}}}"#
        let report = try AudioEngineLine.report(Array(text.utf8))
        #expect(report == .routeChanged(.unknown, previous: AudioRoute(), current: AudioRoute()))
        #expect(!String(decoding: AudioEngineLine.encoded(report), as: UTF8.self).contains("isInputAvailable"))
    }

    @Test("each report is one line, and comes back as it was")
    func reports() throws {
        for report in Self.reports {
            let line = AudioEngineLine.encoded(report)
            #expect(line.last == 10 && !line.dropLast().contains(10))
            #expect(try AudioEngineLine.report(Array(line.dropLast())) == report)
        }
    }

    @Test("a daemon that an upgrade has not restarted reads the answer to its plan")
    func earlierDaemon() throws {
        // What versions before `effects` require.
        struct Earlier: Decodable {
            struct Answer: Decodable {
                struct Applied: Decodable {
                    let inForce, made, undone, left: Int, microseconds: Int64, route: AudioRoute
                }
                let number: UInt64, _1: Applied
            }
            let applied: Answer
        }
        let line = AudioEngineLine.encoded(.applied(number: 1, AudioApplied(route: Self.route, made: 2)))
        #expect(try JSONDecoder().decode(Earlier.self, from: Data(line)).applied._1.made == 2)
    }

    @Test("equal messages are equal bytes, and the form is the one that is written down")
    func form() throws {
        #expect(
            String(decoding: AudioEngineLine.encoded(.apply(number: 3, AudioPlan(), resumes: true)), as: UTF8.self)
                == #"{"apply":{"_1":{"ducked":[],"exempt":[],"isCallWaiting":false,"sessions":[],"silenced":[]},"#
                + #""number":3,"resumes":true}}"# + "\n")
        #expect(
            String(decoding: AudioEngineLine.encoded(.chooseOutput("a", number: 4)), as: UTF8.self)
                == #"{"chooseOutput":{"_0":"a","number":4}}"# + "\n")
        #expect(
            String(decoding: AudioEngineLine.encoded(.outputChosen(number: 4, isKnown: true)), as: UTF8.self)
                == #"{"outputChosen":{"isKnown":true,"number":4}}"# + "\n")
        #expect(
            String(decoding: AudioEngineLine.encoded(.routeDisconnected), as: UTF8.self)
                == #"{"routeDisconnected":{}}"# + "\n")
    }

    @Test(
        "what is no message is malformed",
        arguments: [
            "x", "[]", "{}", "null", "1", #"{"apply":{}}"#, #"{"apply":{"number":-1,"_1":{},"resumes":true}}"#,
            #"{"wokeFromSleep":{},"chooseOutput":{}}"#, #"{"wokeFromSleep":{}} {}"#, #"{"wokeFromSleep":{}"#,
            #"{"prepare":{"_0":{"sessions":[{"id":{"number":1}}]}}}"#, "\u{0}",
        ])
    func malformed(text: String) {
        #expect {
            try AudioEngineLine.request(Array(text.utf8))
        } throws: { error in
            if case AudioEngineLineError.malformed = error { true } else { false }
        }
    }

    @Test("a configuration that is none is malformed, and the reason says why")
    func badConfiguration() throws {
        let good = String(decoding: AudioEngineLine.encoded(.prepare(try Self.plan())), as: UTF8.self)
        let bad = good.replacing("playAndRecord", with: "playback").dropLast()
        #expect {
            try AudioEngineLine.request(Array(bad.utf8))
        } throws: { error in
            "\(error)".contains("does not fit the category")
        }
    }

    @Test("a message of another name is unknown, and its name is cut")
    func unknown() {
        #expect(throws: AudioEngineLineError.unknown("fly")) {
            try AudioEngineLine.request(Array(#"{"fly":{"to":"the moon"}}"#.utf8))
        }
        let long = String(repeating: "n", count: 1000)
        #expect(throws: AudioEngineLineError.unknown(String(long.prefix(64)))) {
            try AudioEngineLine.report(Array(#"{"\#(long)":1}"#.utf8))
        }
    }

    @Test("deep nesting is refused, not followed")
    func deep() {
        let text = #"{"apply":"# + String(repeating: "[", count: 100_000)
        #expect(throws: AudioEngineLineError.self) { try AudioEngineLine.request(Array(text.utf8)) }
    }

    @Test("lines are cut out of pieces of any size", arguments: [1, 2, 3, 7, 1000])
    func pieces(size: Int) throws {
        let stream = Array("one\n\ntwo\nthree\nfo".utf8)
        var lines = AudioEngineLines()
        var found: [String] = []
        for start in stride(from: 0, to: stream.count, by: size) {
            lines.consume(stream[start..<min(start + size, stream.count)])
            while let line = try lines.next() { found.append(String(decoding: line, as: UTF8.self)) }
        }
        #expect(found == ["one", "two", "three"])
        #expect(lines.hasRest)
        lines.consume([10])
        #expect(try lines.next() == Array("fo".utf8))
        #expect(!lines.hasRest)
    }

    @Test("a line may have so many bytes and not one more")
    func bound() throws {
        let most = [UInt8](repeating: 32, count: AudioEngineLine.maximumBytes)
        var lines = AudioEngineLines()
        lines.consume(most)
        #expect(try lines.next() == nil)
        lines.consume([10])
        #expect(try lines.next()?.count == most.count)
        lines.consume(most + [32])
        #expect(throws: AudioEngineLineError.tooLong) { try lines.next() }
        #expect(throws: AudioEngineLineError.tooLong) { try AudioEngineLine.request(most + [32]) }
    }
}

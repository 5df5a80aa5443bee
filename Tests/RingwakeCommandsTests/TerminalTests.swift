import Glibc
import RingwakeCore
import Testing

@testable import RingwakeCommands

@Suite("At the terminal")
struct TerminalTests {
    private func completed(_ command: [String], _ argument: String, at daemon: FakeDaemon?) -> Ran {
        let socket = daemon?.socket ?? "/nowhere/control.sock"
        let words = ["ringwake", "--socket", socket] + command + [""]
        return ringwake(["---completion"] + command + ["--", argument, "\(words.count - 1)", "0"] + words)
    }

    /// The values, without the blank lines that the parser's library adds for some shells. It keeps the shell for which a
    /// script was generated last, also by another test.
    private func offered(_ ran: Ran) -> String {
        ran.output.split(separator: "\n").filter { $0.contains { $0 != " " } }.joined(separator: "\n")
    }

    @Test("a shell completes calls that fit, apps, teams, lists, targets and outputs by asking the daemon")
    func completesValues() {
        let daemon = FakeDaemon { line in
            let path = line.split(separator: " ")[1]
            switch path {
            case "/v1/calls":
                let held = Sample.call("held").replacing(#""call":"C1""#, with: #""call":"C2""#)
                return .json(#"{"schema":1,"calls":[\#(Sample.call("ringing")),\#(held)]}"#)
            case "/v1/apps": return .json(#"{"schema":1,"apps":[\#(Sample.app)]}"#)
            case "/v1/pushes": return .json(#"{"schema":1,"pushes":[\#(Sample.push("missed"))]}"#)
            case "/v1/lists":
                return .json(#"{"schema":1,"lists":[{"schema":1,"list":"spam","kind":"block","entries":3}]}"#)
            default: return .json("{}")
            }
        }
        for (command, argument, values) in [
            (["call", "answer"], "positional@0", "C1"), (["call", "unhold"], "positional@0", "C2"),
            (["call", "show"], "positional@0", "C1\nC2"), (["app", "show"], "positional@0", "com.example.phone"),
            (["app", "show"], "--team", "TEAM123456"), (["call", "list"], "--app", "com.example.phone"),
            (["push", "show"], "positional@0", "A-1"), (["block", "list"], "positional@0", "spam"),
            (["block", "add"], "--list", "spam"), (["reachability"], "positional@0", "any"),
            (["audio", "route"], "positional@0", "speaker\nreceiver\nheadset\nbluetooth\nauto"),
            (["watch"], "--call", "C1\nC2"),
        ] {
            var ran = completed(command, argument, at: daemon)
            // A shell waits for the daemon for one second, which is too short for a machine that is very busy.
            for _ in 0..<60 where offered(ran).isEmpty { ran = completed(command, argument, at: daemon) }
            #expect(ran.status == 0 && offered(ran) == values, "\(command) \(argument): \(ran.output)")
        }
    }

    @Test("without a daemon a shell completes nothing and shows no error")
    func completesNothing() {
        let ran = completed(["call", "answer"], "positional@0", at: nil)
        #expect(ran.status == 0 && offered(ran).isEmpty && ran.errors.isEmpty)
    }

    @Test("progress shows percent and the time left, where they are known")
    func progress() {
        let line = WorkProgress.line
        #expect(line("reading", 430, 1000, .bytes, .seconds(43)) == "reading, 43 %, 57 s left")
        #expect(line("reading", 430, 1000, .bytes, .milliseconds(10)) == "reading, 43 %")
        #expect(line("reading", 2048, nil, .bytes, .seconds(9)) == "reading, 2 KiB")
        #expect(line("sorting", 0, nil, .entries, .seconds(9)) == "sorting")
        #expect(line("sending", 1000, 1000, .entries, .seconds(9)) == "sending, 100 %, 0 s left")
        #expect(line("sending", 5000, 1000, .entries, .seconds(9)) == "sending, 100 %, 0 s left")
        #expect(line("sending", 0, 1000, .entries, .seconds(9)) == "sending, 0 %")
        #expect(line("sending", 1, .max, .entries, .seconds(9)).hasPrefix("sending, 0 %"))
    }

    @Test("times are UTC in a pipe; at a terminal local, with the date unless it is today")
    func times() {
        let text = "2026-11-21T12:34:56.789Z"
        let (noon, day): (Int64, Int64) = (1_795_264_496, 86_400)
        #expect(TimeStyle.utc.short(text) == "2026-11-21 12:34:56Z" && TimeStyle.utc.full(text) == text)
        let today = TimeStyle.local(now: noon).short(text)
        #expect(today == LocalTimeText.text(ofSeconds: noon, "%H:%M:%S") && today.count == 8)
        let later = TimeStyle.local(now: noon + 2 * day).short(text)
        #expect(later == LocalTimeText.dateAndTime(text) && later.count == 16)
        #expect(TimeStyle.local(now: noon).timeOfDay(milliseconds: noon * 1000 + 789).hasSuffix(":56.789"))
        #expect(TimeStyle.local(now: 0).short("soon") == "soon")
    }

    @Test("each reason for an end has words of its own, and none is the raw name")
    func reasons() {
        let words = CallEndReason.allCases.map { CallText.reason($0.rawValue) }
        #expect(Set(words).count == words.count)
        for (reason, text) in zip(CallEndReason.allCases, words) {
            #expect(
                text != reason.rawValue && text == reason.words(isOutgoing: false) && text.first?.isLowercase == true)
        }
        #expect(CallText.reason("aReasonOfTomorrow") == "aReasonOfTomorrow")
    }

    @Test("JSON keeps the raw names of reasons")
    func rawReasons() {
        let daemon = FakeDaemon { _ in .json(Sample.call("ended", reason: "localEnded")) }
        #expect(ringwake(["call", "show", "C1", "--json"], at: daemon).output.contains(#""reason" : "localEnded""#))
        #expect(ringwake(["call", "show", "C1"], at: daemon).output.contains("ended (you hung up)"))
    }

    @Test("a file that may not be read, and one that is missing, have the exit status that is documented")
    func exitStatuses() throws {
        let directory = TemporaryDirectory()
        let missing = directory.path + "/missing"
        for arguments in [
            ["push", "--token", "00", "--ca", missing], ["push", "--token", "00", "--cert", missing],
            ["push", "--token", "00", "--payload", missing], ["certs", "show", missing],
            ["block", "import", missing], ["block", "import", "https://x.invalid/", "--ca", missing],
            ["app", "state", "a.b", "--put", missing],
            ["certs", "show", missing, "--password-file", missing],
        ] {
            let ran = ringwake(arguments)
            #expect(ran.status == 5 && ran.errors.contains("missing"), "\(arguments): \(ran.status) \(ran.errors)")
        }
        directory.write("x", to: "file")
        #expect(ringwake(["certs", "dev-ca", "--directory", directory.path + "/file/below"]).status == 5)
        #expect(ringwake(["status", "--socket", directory.path + "/file/below"]).status == 3)
        #expect(ringwake(["status", "--socket", directory.path + "/file"]).status == 3)
        let bare = FakeDaemon { _ in .json(status: 403, "no") }
        #expect(ringwake(["status"], at: bare).status == 4)
    }
}

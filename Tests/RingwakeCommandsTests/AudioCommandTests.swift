import CRingwakeLinux
import ControlProtocol
import FoundationEssentials
import Glibc
import RingwakeCore
import Testing

@testable import RingwakeCommands

@Suite("ringwake audio")
struct AudioCommandTests {
    private static let speaker =
        #"{"inputs":[],"outputs":[{"device":"alsa_output.0","kind":"builtInSpeaker","name":"Speaker\u001b[2J"}]}"#

    private static func status(_ state: String, _ more: String = "") -> String {
        #"{"active":1,"backend":"program","call":false,"counters":{"activationUs":3000,"activations":2,"effectsLeft":1,"#
            + #""effectsMade":4,"effectsUndone":3,"failures":{"mediaServicesFailed":2},"longestActivationUs":2000},"#
            + #""effects":5,"schema":1,"sessions":2,"state":"\#(state)"\#(more)}"#
    }

    private static let connected = status(
        "connected", #","route":\#(speaker),"server":{"location":"alice@host","name":"pulseaudio","version":"16.1"}"#)

    private func tool(_ arguments: String..., answers: FakeDaemon.Reply) -> (Ran, FakeDaemon) {
        let daemon = FakeDaemon { _ in answers }
        return (ringwake(arguments, at: daemon), daemon)
    }

    @Test("The status says what the server is, where sound goes, and what was done")
    func status() {
        let (run, daemon) = tool("audio", answers: .json(Self.connected))
        #expect(run.status == 0)
        #expect(daemon.requestLines == ["GET /v1/audio HTTP/1.1"])
        for text in [
            "connected: pulseaudio 16.1, alice@host", "builtInSpeaker  Speaker?[2J  (alsa_output.0)",
            "2 open, 1 active",
            "1.50 ms on average and 2.00 ms at most", "4 made, 3 undone, 1 left", "failed: mediaServicesFailed  2",
        ] { #expect(run.output.contains(text), "\(run.output)") }
    }

    @Test(
        "A server that is not there is said with its reason",
        arguments: [
            ("unavailable", "unavailable: it refuses"), ("lost", "lost: it refuses"),
            ("starting", "connecting"),
            ("off", "off: [audio] backend"), ("idle", "idle: nothing needs it"), ("newer", "newer: it refuses"),
        ])
    func states(state: String, says: String) {
        let (run, _) = tool("audio", "status", answers: .json(Self.status(state, #","why":"it refuses""#)))
        #expect(run.status == 0)
        #expect(run.output.contains(says), "\(run.output)")
    }

    @Test("With --json the message is the daemon's")
    func json() throws {
        let (run, _) = tool("audio", "status", "--json", answers: .json(Self.connected))
        let message = try JSONDecoder().decode(AudioStatusMessage.self, from: Data(run.output.utf8))
        #expect(message.schema == 1 && message.server?.name == "pulseaudio")
    }

    @Test("The route is asked for, and its exit status says whether there is a server")
    func route() {
        let (run, daemon) = tool("audio", "route", answers: .json(Self.connected))
        #expect(run.status == 0)
        #expect(daemon.requestLines == ["GET /v1/audio/route HTTP/1.1"])
        #expect(run.output == "output  builtInSpeaker  Speaker?[2J  (alsa_output.0)\ninput   none\n")
        let (missing, _) = tool("audio", "route", answers: .json(Self.status("unavailable", #","why":"gone""#)))
        #expect(missing.status == 8)
        #expect(missing.output == "server  unavailable: gone\n")
        #expect(tool("audio", "route", answers: .json(Self.status("off"))).0.status == 0)
    }

    @Test("The route says that no microphone is connected")
    func noMicrophone() {
        let route = #","route":{"inputs":[],"isInputAvailable":false,"outputs":[]}"#
        for words in [["audio", "route"], ["audio"]] {
            let daemon = FakeDaemon { _ in .json(Self.status("connected", route)) }
            let run = ringwake(words, at: daemon)
            #expect(run.output.contains("none (no microphone is connected)\n"), "\(run.output)")
        }
    }

    @Test(
        "A name chooses the output",
        arguments: [
            ("speaker", #"{"output":"builtInSpeaker"}"#), ("receiver", #"{"output":"builtInReceiver"}"#),
            ("headset", #"{"output":"headset"}"#), ("bluetooth", #"{"output":"bluetoothHFP"}"#), ("auto", "{}"),
            ("alsa_output.0", #"{"output":"alsa_output.0"}"#),
        ])
    func choose(name: String, body: String) throws {
        let (run, daemon) = tool("audio", "route", name, answers: .json(Self.connected))
        #expect(run.status == 0)
        let request = try #require(daemon.requests.first)
        #expect(request.hasPrefix("POST /v1/audio/route HTTP/1.1\r\n"))
        #expect(request.hasSuffix("\r\n\r\n\(body)\n"))
    }

    @Test("Sessions are listed, with whose they are")
    func sessions() {
        let session =
            #"{"app":"a.b","call":"c1","category":"playAndRecord","id":0,"mode":"voiceChat","name":"phone","openMs":61000,"#
            + #""options":["duckOthers","mixWithOthers"],"pids":[7],"schema":1,"state":"active"}"#
        let (run, _) = tool("audio", "sessions", answers: .json(#"{"schema":1,"sessions":[\#(session)]}"#))
        #expect(
            run.output == """
                id  state   category                 options                   name                   open
                 0  active  playAndRecord/voiceChat  duckOthers,mixWithOthers  phone (a.b), call c1  1 min

                """)
        let (none, _) = tool("audio", "sessions", answers: .json(#"{"schema":1,"sessions":[]}"#))
        #expect(none.output == "no audio session is open\n")
    }

    @Test("A refusal names Apple's code, and has its exit status")
    func refusal() {
        let body = String(
            decoding: controlJSON(ErrorMessage(AudioSessionError(.insufficientPriority, "a call goes on"))),
            as: UTF8.self)
        let (run, _) = tool("audio", "sessions", answers: .json(status: 409, body))
        #expect(run.status == 1)
        #expect(run.errors == "ringwake: a call goes on (insufficientPriority)\n")
    }
}

@Suite("ringwake audio run")
struct AudioRunTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n"
    private static let opened = #"{"event":"opened","id":16,"schema":1}"# + "\n"
    private static let active =
        #"{"event":"active","route":{"inputs":[],"outputs":[{"kind":"headphones"}]},"schema":1}"# + "\n"
    private static let refused =
        #"{"code":"insufficientPriority","event":"error","message":"a call goes on","number":561017449,"schema":1}"#
        + "\n"

    /// The stream has these lines, and every other request is answered with a session.
    private func run(_ lines: String..., arguments: [String], errors: Output = Output()) -> (Ran, FakeDaemon) {
        let stream = FakeDaemon.Reply.raw([Self.head + lines.joined()])
        let daemon = FakeDaemon { line in
            line.hasPrefix("POST /v1/audio/sessions HTTP") ? stream : .json(#"{"error":"conflict"}"#)
        }
        return (ringwake(["audio", "run"] + arguments, at: daemon, errors: errors), daemon)
    }

    @Test("The command runs once the session is active, and its exit status is passed on")
    func passedOn() throws {
        let (run, daemon) = run(
            Self.opened, Self.active,
            arguments: [
                "--category", "playAndRecord", "--mode", "voiceChat", "--options", "duckOthers,defaultToSpeaker",
            ]
                + ["--preferred-output", "bluetooth", "--", "/bin/sh", "-c", "exit 7"])
        #expect(run.status == 7)
        #expect(run.errors.hasPrefix("ringwake: audio is active: headphones\n"))
        let request = try #require(daemon.requests.first)
        #expect(
            request.hasSuffix(
                #"{"active":true,"category":"playAndRecord","mode":"voiceChat","name":"sh","#
                    + #""options":["defaultToSpeaker","duckOthers"],"preferredOutput":"bluetoothHFP"}"# + "\n"))
    }

    @Test("A signal that ends the command makes 128 and its number")
    func signalled() {
        #expect(run(Self.opened, Self.active, arguments: ["--", "sh", "-c", "kill -TERM $$"]).0.status == 143)
        #expect(run(Self.opened, Self.active, arguments: ["--", "sh", "-c", "kill -KILL $$"]).0.status == 137)
    }

    @Test("The command has the usual signals, and SIGPIPE again")
    func signals() {
        let look =
            "grep -q 'SigBlk:\t0000000000000000' /proc/self/status && grep -q 'SigIgn:.*[02468ace]...$' /proc/self/status"
        #expect(run(Self.opened, Self.active, arguments: ["--", "sh", "-c", look]).0.status == 0)
    }

    @Test("What cannot be executed is 127 or 126")
    func notExecutable() {
        let (missing, _) = run(Self.opened, Self.active, arguments: ["--", "/nonexistent/command"])
        #expect(missing.status == 127)
        #expect(missing.errors.contains("'/nonexistent/command' cannot be run: No such file or directory"))
        #expect(run(Self.opened, Self.active, arguments: ["--", "/tmp"]).0.status == 126)
    }

    @Test("Without an active session the command does not run, and the exit status says why")
    func inactive() {
        let (refused, _) = run(Self.opened, Self.refused, arguments: ["--", "/nonexistent/command"])
        #expect(refused.status == 1)
        #expect(
            refused.errors
                == "ringwake: the audio session was not activated: a call goes on (insufficientPriority)\n")
        let (all, _) = run(Self.opened, Self.refused, arguments: ["--even-if-inactive", "--", "sh", "-c", "exit 9"])
        #expect(all.status == 9)
        #expect(all.errors.hasSuffix("(insufficientPriority); the command runs without an audio session\n"))
        let away = ringwake(
            ["audio", "run", "--even-if-inactive", "--", "true"], environment: ["RINGWAKE_SOCKET": "/nonexistent"])
        #expect(away.status == 0)
        let none = ringwake(["audio", "run", "--", "true"], environment: ["RINGWAKE_SOCKET": "/nonexistent"])
        #expect(none.status == 3)
    }

    @Test("A daemon that goes away does not end the command, and that is said once")
    func daemonGone() {
        let folder = TemporaryDirectory()
        folder.write("", to: "errors")
        let errors = ringwake_open(folder.path + "/errors", O_WRONLY, 0)
        defer { close(errors) }
        let said = "continues without an audio session"
        // The command ends when it has been said, and after a minute.
        let script = """
            for _ in $(seq 600); do grep -q '\(said)' '\(folder.path)/errors' && exit 5; sleep 0.1; done
            """
        let (run, _) = run(
            Self.opened, Self.active, arguments: ["--", "sh", "-c", script], errors: Output(descriptor: errors))
        #expect(run.status == 5)
        let text = folder.read("errors") ?? ""
        #expect(text.ranges(of: said).count == 1, "\(text)")
    }

    @Test("With --json the lines are the daemon's own")
    func json() {
        let (run, _) = run(Self.opened, Self.active, arguments: ["--json", "--", "true"])
        #expect(run.errors.hasPrefix(Self.opened + Self.active), "\(run.errors)")
    }

    @Test(
        "A command line that makes no sense is refused before anything runs",
        arguments: [
            ["--mode", "voiceChat", "--", "true"], ["--category", "loud", "--", "true"],
            ["--options", "a,b", "--", "true"],
            [], ["--"], ["--", ""], ["true"], ["--preferred-output", "", "--", "true"],
        ])
    func nonsense(arguments: [String]) {
        #expect(ringwake(["audio", "run"] + arguments, environment: ["RINGWAKE_SOCKET": "/nonexistent"]).status == 2)
    }

    @Test("Every notice that a person should hear has a sentence")
    func sentences() {
        func text(_ notice: AudioNotice) -> String? { AudioReporter.text(of: AudioNoticeMessage(notice)) }
        #expect(text(.interruptionBegan(.default)) == "audio was interrupted: another session has a higher priority")
        #expect(text(.interruptionBegan(.builtInMicMuted)) == "audio was interrupted: the microphone is muted")
        #expect(text(.interruptionEnded(shouldResume: true)) == "the interruption has ended")
        #expect(text(.mediaServicesWereLost) == "the connection to the audio server was lost")
        #expect(text(.mediaServicesWereReset) == "the audio server is back")
        #expect(text(.secondaryAudioShouldBeSilenced(false)) == "no other session plays now")
        let speaker = AudioRoute(outputs: [AudioPort(kind: .builtInSpeaker, device: "d", name: "Speaker")])
        #expect(
            text(.routeChanged(.oldDeviceUnavailable, previous: speaker, current: speaker))
                == "audio route changed: builtInSpeaker (Speaker): the device was removed")
        #expect(AudioReporter.text(of: AudioNoticeMessage(event: "opened")) == nil)
    }
}

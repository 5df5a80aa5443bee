import Glibc
import Logging
import RingwakeCore
import RunLoop
import Testing

@testable import CallAudio

@Suite(.serialized, .withAudioServers)
struct AudioSessionTests {
    @Test("others are quieter from activation to deactivation, and then as before", arguments: AudioServerKind.allCases)
    func ducking(kind: AudioServerKind) throws {
        let bench = try SessionBench(kind)
        defer { bench.stop() }
        let before = try bench.music()
        let session = try bench.session()
        #expect(session.state == .inactive)
        try session.setCategory(.playback, options: [.duckOthers])
        let route = try bench.set(session, active: true).get()
        #expect(route.outputs.map(\.device) == ["speakers"])
        #expect(session.state == .active)
        #expect(session.currentRoute == route)
        #expect(session.isOtherAudioPlaying)
        #expect(try bench.volumes() != before)
        #expect(bench.journals().count == 1)
        // Never ducked twice.
        let ducked = try bench.volumes()
        try bench.set(session, active: true)
        #expect(try bench.volumes() == ducked)
        _ = try bench.set(session, active: false).get()
        #expect(session.state == .inactive)
        #expect(try bench.volumes() == before)
        #expect(bench.journals().isEmpty)
    }

    @Test("a session interrupts another, and tells it when that is over")
    func interruption() throws {
        let bench = try SessionBench(.pulseAudio)
        defer { bench.stop() }
        let (player, recorder) = (try bench.session("player"), try bench.session("recorder"))
        let notices = Box<AudioSessionNotice>()
        player.onNotice { if case .routeChanged = $0 {} else { notices.put($0) } }
        try player.setCategory(.playback)
        try recorder.setCategory(.playAndRecord)
        _ = try bench.set(player, active: true).get()
        _ = try bench.set(recorder, active: true).get()
        #expect(player.state == .interrupted)
        #expect(recorder.currentRoute.inputs.map(\.device) == ["microphone"])
        _ = try bench.set(recorder, active: false, notifyOthers: true).get()
        try #require(bench.server.runLoop.drive { notices.values.count >= 2 })
        #expect(notices.values == [.interruptionBegan(.default), .interruptionEnded(shouldResume: true)])
        #expect(player.state == .interrupted)
        _ = try bench.set(player, active: true).get()
        #expect(player.state == .active)
    }

    @Test(
        "whether there is a microphone is told when that changes, to a session that is not active too",
        arguments: AudioServerKind.allCases)
    func inputAvailability(kind: AudioServerKind) throws {
        let bench = try SessionBench(kind)
        defer { bench.stop() }
        let (listener, recorder) = (try bench.session("listener"), try bench.session("recorder"))
        let notices = Box<AudioSessionNotice>()
        listener.onNotice { notices.put($0) }
        try recorder.setCategory(.record)
        #expect(try bench.set(recorder, active: true).get().isInputAvailable && listener.isInputAvailable)
        _ = try bench.set(recorder, active: false).get()
        let modules = try bench.server.pactl("list", "short", "modules").split(separator: "\n")
        let module = try #require(modules.first { $0.contains("microphone") }?.split(separator: "\t").first)
        try bench.server.pactl("unload-module", String(module))
        try #require(bench.server.runLoop.drive { notices.values.count >= 1 })
        #expect(!listener.isInputAvailable && !recorder.isInputAvailable && !listener.currentRoute.isInputAvailable)
        #expect(throws: AudioSessionError.self) { try bench.set(recorder, active: true).get() }
        try bench.server.addMicrophone()
        try #require(bench.server.runLoop.drive { notices.values.count >= 2 })
        #expect(notices.values == [.inputAvailabilityChanged(false), .inputAvailabilityChanged(true)])
        #expect(try bench.set(recorder, active: true).get().inputs.map(\.device) == ["microphone"])
    }

    @Test("in the background a session may not interrupt")
    func background() throws {
        let bench = try SessionBench(.pulseAudio)
        defer { bench.stop() }
        let session = try bench.session()
        try session.setCategory(.playback)
        try session.setForeground(false)
        #expect(throws: AudioSessionError.self) { try bench.set(session, active: true).get() }
        #expect(session.state == .inactive)
        try session.setForeground(true)
        _ = try bench.set(session, active: true).get()
    }

    @Test("what does not fit is refused at once, and changes nothing")
    func badParameters() throws {
        let bench = try SessionBench(.pulseAudio, isStarted: false)
        defer { bench.stop() }
        let session = try bench.session()
        try session.setCategory(.playAndRecord, mode: .voiceChat)
        try session.setPreferredOutput("headset")
        let before = session.configuration
        let attempts: [(AudioSession) throws -> Void] = [
            { try $0.setCategory(.playback, mode: .voiceChat) },
            { try $0.setCategory(.ambient, options: [.duckOthers]) },
            { try $0.setPreferredInput("") },
        ]
        for attempt in attempts {
            #expect {
                try attempt(session)
            } throws: { error in
                (error as? AudioSessionError)?.code.number == -50
            }
        }
        #expect(session.configuration == before)
        #expect(before.preferredOutput == "headset")
    }

    @Test("the preferred output is the route of an active session")
    func preferredOutput() throws {
        let bench = try SessionBench(.pulseAudio)
        defer { bench.stop() }
        let session = try bench.session()
        try session.setCategory(.playback)
        try session.setPreferredOutput("headset")
        #expect(try bench.set(session, active: true).get().outputs.map(\.device) == ["headset"])
        try session.setPreferredOutput(nil)
        try #require(bench.server.runLoop.drive { session.currentRoute.outputs.map(\.device) == ["speakers"] })
        #expect(session.configuration.preferredOutput == nil)
    }

    @Test("without a server it says so, and is told when there is one")
    func withoutServer() throws {
        let bench = try SessionBench(.pulseAudio, isStarted: false)
        defer { bench.stop() }
        let session = try bench.session()
        try session.setCategory(.playback)
        #expect {
            try bench.set(session, active: true).get()
        } throws: { error in
            (error as? AudioSessionError)?.code == .mediaServicesFailed
        }
        try bench.server.start()
        try #require(bench.server.runLoop.drive { (try? bench.set(session, active: true).get()) != nil })
        #expect(session.state == .active)
    }

    @Test("a server that dies is told, and one that is back; the session keeps what it is")
    func serverLost() throws {
        let bench = try SessionBench(.pulseAudio)
        defer { bench.stop() }
        let session = try bench.session()
        let notices = Box<AudioSessionNotice>()
        session.onNotice { notices.put($0) }
        try session.setCategory(.playback, options: [.duckOthers])
        _ = try bench.set(session, active: true).get()
        bench.server.kill()
        try #require(bench.server.runLoop.drive { session.state == .lost })
        try bench.server.start()
        try #require(bench.server.runLoop.drive { session.state == .inactive })
        #expect(
            notices.values.filter { $0 == .mediaServicesWereLost || $0 == .mediaServicesWereReset }
                == [.mediaServicesWereLost, .mediaServicesWereReset])
        #expect(session.configuration.options == [.duckOthers])
        // The server answers before it has loaded its outputs.
        try #require(bench.server.runLoop.drive { (try? bench.set(session, active: true).get()) != nil })
    }

    @Test("closing a session puts everything back, and it can do nothing after that")
    func closed() throws {
        let bench = try SessionBench(.pulseAudio)
        defer { bench.stop() }
        let before = try bench.music()
        let session = try bench.session()
        try session.setCategory(.playback, options: [.duckOthers])
        _ = try bench.set(session, active: true).get()
        #expect(try bench.volumes() != before)
        session.close()
        try #require(bench.server.runLoop.drive { (try? bench.volumes()) == before })
        #expect {
            try bench.set(session, active: true).get()
        } throws: { error in
            (error as? AudioSessionError)?.code == .expiredSession
        }
    }

    @Test("the end of the last reference is the end of the session")
    func released() throws {
        let bench = try SessionBench(.pulseAudio)
        defer { bench.stop() }
        let before = try bench.music()
        var session: AudioSession? = try bench.session()
        try session?.setCategory(.playback, options: [.duckOthers])
        if let session { _ = try bench.set(session, active: true).get() }
        #expect(try bench.volumes() != before)
        session = nil
        try #require(bench.server.runLoop.drive { (try? bench.volumes()) == before })
    }

    @Test("the end of a process waits until everything is put back")
    func hubClosed() throws {
        let bench = try SessionBench(.pulseAudio)
        defer { bench.stop() }
        let before = try bench.music()
        let session = try bench.session()
        let stream = session.notices
        try session.setCategory(.playback, options: [.duckOthers])
        _ = try bench.set(session, active: true).get()
        #expect(try bench.volumes() != before)
        bench.service.close()
        #expect(try bench.volumes() == before)
        #expect(bench.journals().isEmpty)
        withExtendedLifetime(stream) {}
    }

    @Test("what a program that was killed left is put back before anything else is done", arguments: [1, 2])
    func crashed(place: Int) throws {
        let bench = try SessionBench(.pulseAudio)
        defer { bench.stop() }
        let before = try bench.music()
        try crash(bench, journal: EffectJournals.numbered(bench.environment)[place - 1])
        #expect(try bench.volumes() != before)
        #expect(bench.journals().count == 1)
        let session = try bench.session()
        try session.setCategory(.playback)
        try #require(bench.server.runLoop.drive { (try? bench.volumes()) == before })
        // It goes when the server has acknowledged that.
        try #require(bench.server.runLoop.drive { bench.journals().isEmpty })
    }

    /// Has music ducked by an engine that then is gone without a word.
    private func crash(_ bench: SessionBench, journal: String) throws {
        let runLoop = try RunLoop()
        let parts = AudioEngineParts(
            environment: bench.environment, address: bench.server.address, runLoop: runLoop,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, version: "0")
        var reports: [AudioEngineReport] = []
        let engine = try parts.makeEngine(journal: journal) { reports.append($0) }
        engine.start()
        let session = AudioPlan.Session(
            id: AudioSessionID(number: 16), client: AudioClient(name: "crashed"), configuration: .standard,
            others: .duck)
        try #require(runLoop.drive { reports.contains { if case .connected = $0 { true } else { false } } })
        engine.handle(.apply(number: 1, AudioPlan(sessions: [session]), resumes: false))
        try #require(runLoop.drive { reports.contains { if case .applied = $0 { true } else { false } } })
    }

    @Test("programs at the same time have journals of their own")
    func twoPrograms() throws {
        let bench = try SessionBench(.pulseAudio)
        defer { bench.stop() }
        let other = try SessionService(environment: bench.environment, address: bench.server.address)
        defer { other.close() }
        let before = try bench.music()
        let sessions = [try bench.session(), try AudioSession(name: "other", service: other)]
        for session in sessions {
            try session.setCategory(.playback, options: [.duckOthers])
            _ = try bench.set(session, active: true).get()
        }
        #expect(!bench.journals().isEmpty)
        for session in sessions { _ = try bench.set(session, active: false).get() }
        #expect(bench.journals().isEmpty)
        #expect(try bench.volumes() == before)
    }
}

/// What needs no audio server.
struct AudioSessionFaceTests {
    /// A service in a place where no folder can be, let alone a server.
    private static func service() throws -> SessionService {
        try SessionService(environment: ["XDG_STATE_HOME": "/dev/null/state"], address: .server("unix:/dev/null/pulse"))
    }

    @Test("an activation that fails throws, and leaves the session inactive")
    func failure() async throws {
        let service = try Self.service()
        defer { service.close() }
        let session = try AudioSession(name: "test", service: service)
        await #expect(throws: AudioSessionError.self) { try await session.setActive(true) }
        #expect(session.state == .inactive)
        try await session.setActive(false)
    }

    @Test("streams of notices end with the session")
    func streams() async throws {
        let service = try Self.service()
        defer { service.close() }
        let session = try AudioSession(name: "test", service: service)
        let (one, two) = (session.notices, session.notices)
        session.close()
        for await _ in one {}
        for await _ in two {}
        for await _ in session.notices {}
    }

    @Test("everybody who waits is answered when the process ends")
    func answered() async throws {
        let service = try Self.service()
        let session = try AudioSession(name: "test", service: service)
        let answers = Box<Bool>()
        for _ in 0..<500 { session.setActive(true) { _ in answers.put(true) } }
        service.close()
        #expect(answers.values.count == 500)
        await #expect(throws: AudioSessionError.self) { try await session.setActive(true) }
    }

    @Test("sessions of a process share a service")
    func shared() throws {
        #expect(try SessionService.ofProcess() === SessionService.ofProcess())
    }

    @Test("sessions come and go from many threads")
    func crowd() async throws {
        let service = try Self.service()
        defer { service.close() }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<32 {
                group.addTask {
                    for _ in 0..<20 {
                        guard let session = try? AudioSession(name: "\(number)", service: service) else { return }
                        try? session.setCategory(.playAndRecord, mode: .voiceChat)
                        _ = try? await session.setActive(true)
                        session.close()
                    }
                }
            }
        }
    }

    @Test("journals lie where the user's state does")
    func journals() {
        #expect(EffectJournals.standard(["XDG_STATE_HOME": "/s", "HOME": "/h"]) == "/s/ringwake/audio-effects.json")
        #expect(EffectJournals.standard(["HOME": "/h"]) == "/h/.local/state/ringwake/audio-effects.json")
        #expect(EffectJournals.standard(["XDG_STATE_HOME": "relative"]) == nil)
        #expect(EffectJournals.all([:]).isEmpty)
        #expect(EffectJournals.all(["HOME": "/h"]).count == 17)
    }
}

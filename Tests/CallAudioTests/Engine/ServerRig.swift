@testable import CallAudio
import FileSystem
import RingwakeCore
import RunLoop
import Testing

/// An engine on a real server, and another client that looks at it.
final class ServerRig {
    let host: AudioServerUnderTest
    let players: ModelPlayers
    private(set) var engine: AudioEngine
    private(set) var eye: PulseClient
    private(set) var reports: [AudioEngineReport] = []
    private var number: UInt64 = 0
    private var server: PulseServer
    var journalPath: String { host.folder + "/effects.json" }

    private final class Box { var take: ((AudioEngineReport) -> Void)? }

    init(_ kind: AudioServerKind) throws {
        host = try AudioServerUnderTest(kind)
        players = ModelPlayers(runLoop: host.runLoop)
        let box = Box()
        server = PulseServer(runLoop: host.runLoop, address: host.address, name: "engine")
        engine = try AudioEngine(
            runLoop: host.runLoop, server: server, players: players, journalPath: host.folder + "/effects.json",
            version: "1"
        ) { box.take?($0) }
        eye = try PulseClient(host)
        box.take = { [unowned self] in take($0) }
        engine.start()
        try waitUntilConnected()
    }

    private func take(_ report: AudioEngineReport) {
        // It comes with each change, in between.
        if case .effects = report { return }
        reports.append(report)
    }

    func stop() {
        engine.close {}
        _ = host.runLoop.drive(limit: .seconds(3)) { engine.isClean }
        eye.server.close()
        host.stop()
    }

    func waitUntilConnected() throws {
        try #require(
            host.runLoop.drive { reports.contains { if case .connected = $0 { true } else { false } } }, "\(reports)")
    }

    /// The engine is gone without a word, and another one begins.
    func restartEngine() throws {
        server.close()
        server.onEvent = nil
        reports = []
        let box = Box()
        box.take = { [unowned self] in take($0) }
        let next = PulseServer(runLoop: host.runLoop, address: host.address, name: "engine")
        let path = host.folder + "/effects.json"
        // The lock goes with the engine.
        let idle = host.folder + "/idle.json"
        engine = try AudioEngine(
            runLoop: host.runLoop, server: next, players: players, journalPath: idle, version: "1"
        ) { _ in }
        server = next
        engine = try AudioEngine(
            runLoop: host.runLoop, server: next, players: players, journalPath: path, version: "1"
        ) { box.take?($0) }
        engine.start()
        try waitUntilConnected()
    }

    /// `kill -9` of the server, and another one in its place.
    func restartServer() throws {
        host.kill()
        try #require(host.runLoop.drive { reports.contains { if case .lost = $0 { true } else { false } } })
        reports = []
        eye.server.close()
        try host.start()
        eye = try PulseClient(host)
        try waitUntilConnected()
        try #require(host.runLoop.drive { engine.isClean }, "\(reports)")
    }

    @discardableResult
    func apply(_ plan: AudioPlan, sourceLocation: SourceLocation = #_sourceLocation) throws -> AudioApplied {
        number += 1
        let number = number
        engine.handle(.apply(number: number, plan, resumes: true))
        var answer: Result<AudioApplied, AudioSessionError>?
        let isAnswered = host.runLoop.drive {
            for report in reports {
                switch report {
                case .applied(number, let applied): answer = .success(applied)
                case .refused(number, let error): answer = .failure(error)
                default: continue
                }
            }
            return answer != nil
        }
        try #require(isAnswered, "\(reports)", sourceLocation: sourceLocation)
        return try #require(answer, sourceLocation: sourceLocation).get()
    }

    /// The stream of a program, as another client sees it, when it is so; what it is after all where it never is.
    func stream(
        _ program: TestProgram, _ condition: (AudioServerImage.Stream) -> Bool
    ) throws -> AudioServerImage.Stream {
        _ = try eye.playing(program)
        _ = host.runLoop.drive {
            eye.image?.playing.values.first { $0.process == program.pid }.map(condition) ?? false
        }
        return try #require(eye.image?.playing.values.first { $0.process == program.pid })
    }

    func stored() throws -> [StoredStream] {
        var result: Result<[StoredStream], AudioServerFailure>?
        eye.server.storedStreams { result = $0 }
        try #require(host.runLoop.drive { result != nil })
        return try #require(result).get().sorted { $0.name < $1.name }
    }

    func name(of sink: UInt32?) -> String? { sink.flatMap { eye.image?.sinks[$0]?.name } }
}

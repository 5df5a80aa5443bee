@testable import CallAudio
import FileSystem
import Glibc
import RingwakeCore
import RunLoop
import Testing

/// An engine on a model of a server, with a journal in a folder of its own.
final class EngineRig {
    let runLoop: RunLoop
    let server: ModelAudioServer
    let players: ModelPlayers
    let folder: String
    private(set) var engine: AudioEngine
    /// All but those of effects, which come with each change.
    private(set) var reports: [AudioEngineReport] = []
    private(set) var allReports: [AudioEngineReport] = []
    var onReport: ((AudioEngineReport) -> Void)?
    private let readProcess: ProcessTree.Reader
    private var number: UInt64 = 0
    var journalPath: String { folder + "/effects.json" }

    init(
        _ image: AudioServerImage = .notebook(), isStarted: Bool = true,
        readProcess: @escaping ProcessTree.Reader = { _ in nil }
    ) throws {
        runLoop = try RunLoop()
        var template = Array("/tmp/ringwake-engine-XXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        self.folder = folder
        server = ModelAudioServer(image, runLoop: runLoop)
        players = ModelPlayers(runLoop: runLoop)
        let box = ReportBox()
        self.readProcess = readProcess
        engine = try EngineRig.engine(folder, server, players, runLoop, readProcess, box)
        box.take = { [unowned self] in
            take($0)
            onReport?($0)
        }
        watchJournal()
        if isStarted { try start() }
    }

    private final class ReportBox { var take: ((AudioEngineReport) -> Void)? }

    private static func engine(
        _ folder: String, _ server: ModelAudioServer, _ players: ModelPlayers, _ runLoop: RunLoop,
        _ readProcess: @escaping ProcessTree.Reader, _ box: ReportBox
    ) throws -> AudioEngine {
        try AudioEngine(
            runLoop: runLoop, server: server, players: players, journalPath: folder + "/effects.json", version: "1",
            readProcess: readProcess
        ) { box.take?($0) }
    }

    /// The program dies, and another one begins where its journal is.
    func restart() throws {
        server.onEvent = nil
        let box = ReportBox()
        // The lock goes with the process, and so with the object.
        let idle = ModelAudioServer(.notebook(), runLoop: runLoop)
        engine = try AudioEngine(
            runLoop: runLoop, server: idle, players: players, journalPath: folder + "/other", version: "1"
        ) { _ in }
        unlink(folder + "/other.lock")
        engine = try EngineRig.engine(folder, server, players, runLoop, readProcess, box)
        box.take = { [unowned self] in
            take($0)
            onReport?($0)
        }
        clear()
    }

    private func take(_ report: AudioEngineReport) {
        allReports.append(report)
        if case .effects = report { return }
        reports.append(report)
    }

    deinit {
        for name in ["effects.json", "effects.json.lock", "effects.json.damaged", "other.lock"] {
            unlink("\(folder)/\(name)")
        }
        rmdir(folder)
    }

    /// No command comes that the journal on the disk could not take back.
    private func watchJournal() {
        server.onPerform = { [unowned self] commands in
            for command in commands { expectCovered(command) }
        }
        players.onPause = { [unowned self] paused in
            let ledger = ledgerOnDisk()
            for player in paused { #expect(ledger.players.contains(player), "\(player) is not journaled") }
        }
    }

    private func expectCovered(_ command: AudioServerCommand) {
        guard case .set(let target, let value) = command else { return }
        let record = ledgerOnDisk()[target]
        let isCovered = record?.set == value || record?.before == value
        #expect(isCovered, "\(command) came before the journal")
    }

    func ledgerOnDisk() -> EffectLedger {
        guard FileSystem.exists(journalPath) else { return EffectLedger() }
        guard case .ledger(let ledger) = try? EffectJournalFile.contents(of: journalPath) else {
            Issue.record("the journal cannot be read")
            return EffectLedger()
        }
        return ledger
    }

    func drive(until condition: () -> Bool) -> Bool { runLoop.drive(until: condition) }

    func start() throws {
        engine.start()
        try #require(drive { reports.contains { if case .connected = $0 { true } else { false } } })
    }

    /// Everything that can happen without time passing has happened.
    func settle() {
        for _ in 0..<12 { runLoop.runOnce(timeout: .zero) }
    }

    /// Longer than devices are given to settle.
    func settleDevices() {
        let end = BootClock.now().advanced(by: .milliseconds(80))
        while BootClock.now() < end { runLoop.runOnce(timeout: .milliseconds(5)) }
        settle()
    }

    func send(_ plan: AudioPlan, resumes: Bool = true) -> UInt64 {
        number += 1
        engine.handle(.apply(number: number, plan, resumes: resumes))
        return number
    }

    /// The user chooses an output; answered by the number that is returned.
    func choose(_ name: String?) -> UInt64 {
        number += 1
        engine.handle(.chooseOutput(name, number: number))
        return number
    }

    func answer(to number: UInt64) -> Result<AudioApplied, AudioSessionError>? {
        for report in reports {
            switch report {
            case .applied(number, let applied): return .success(applied)
            case .refused(number, let error): return .failure(error)
            default: continue
            }
        }
        return nil
    }

    @discardableResult
    func apply(
        _ plan: AudioPlan, resumes: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> AudioApplied {
        let number = send(plan, resumes: resumes)
        try #require(drive { answer(to: number) != nil }, "no answer", sourceLocation: sourceLocation)
        let applied = try #require(answer(to: number), sourceLocation: sourceLocation).get()
        settle()
        return applied
    }

    func close() throws {
        var isClosed = false
        engine.close { isClosed = true }
        try #require(drive { isClosed })
    }

    func clear() { (reports, allReports) = ([], []) }

    var problems: [String] {
        reports.compactMap { if case .problem(let text) = $0 { text } else { nil } }
    }
}

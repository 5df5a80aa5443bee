package import RingwakeCore
internal import RunLoop

/// Applies plans to an audio server, and undoes everything at the end. Nothing else changes anything on the server.
///
///     let engine = try parts.makeEngine(journal: path) { print($0) }
///     engine.start()                                  // undoes what a journal holds, reports `ready`
///     engine.handle(.apply(number: 1, plan, resumes: true))
///     engine.close { loop.stop() }                    // undoes everything
///
/// It drives an ``AudioEngineStateMachine``: passes on the events of server, players and disk, runs the effects, and
/// keeps one timer.
package final class AudioEngine {
    typealias Machine = AudioEngineStateMachine

    let journal: EffectJournal
    private let runLoop: RunLoop
    private let server: any AudioServer
    private let players: any MediaPlayers
    private let others: OtherJournals
    private let version: String
    private let report: (AudioEngineReport) -> Void
    private var machine: Machine
    private lazy var driver = StateMachineDriver<Machine.Event>(
        runLoop: runLoop, tolerance: .milliseconds(10), deadlineReached: .deadlineReached,
        nextDeadline: { [unowned self] in machine.nextDeadline }, apply: { [unowned self] in apply($0) },
        settled: { [unowned self] in finishTurn() })
    private var unsentReports: [AudioEngineReport] = []
    /// What waits until the reports are sent.
    private var afterReports: [() -> Void] = []
    private var areReportsEnqueued = false
    private var reportedEffects = AudioEngineReport.effects(count: 0, isRestoring: false)
    private var isReady = false
    private var closed: (() -> Void)?
    /// Counts connections: an answer of an earlier one is dropped.
    private var connection = 0

    /// - Parameters:
    ///   - siblings: Journals of other programs that may use the same server: they are read, never written.
    ///   - readProcess: Reads a process's parent and group.
    ///   - report: Called from the loop, never from within a call of these functions.
    /// - Throws: the journal cannot be used (``EffectJournalError``).
    init(
        runLoop: RunLoop, server: any AudioServer, players: any MediaPlayers, journalPath: String, version: String,
        siblings: [String] = [], readProcess: @escaping ProcessTree.Reader = ProcessTree.live,
        report: @escaping (AudioEngineReport) -> Void
    ) throws(EffectJournalError) {
        let journal = try EffectJournal(path: journalPath)
        let others = OtherJournals(besides: journal, known: siblings)
        self.journal = journal
        self.others = others
        self.runLoop = runLoop
        self.server = server
        self.players = players
        self.version = version
        self.report = report
        machine = Machine(
            journal.found,
            .init(
                tree: ProcessTree(readProcess), boot: EffectLedger.presentBoot, others: { others.ledgers },
                stored: { server.knownStored }))
    }

    /// The effects that have to be undone.
    var ledger: EffectLedger { machine.ledger }
    /// The server; nil without a connection.
    var image: AudioServerImage? { machine.image }
    var isClean: Bool { ledger.isEmpty }

    /// Connects, undoes what the journal holds, and reports `ready`.
    package func start() {
        server.onEvent = { [weak self] in self?.feed(.server($0)) }
        players.onChange = { [weak self] in self?.feed(.playerChanged($0, $1)) }
        feed(.start)
    }

    package func handle(_ request: AudioEngineRequest) { feed(.request(request)) }

    /// Undoes everything, ends the connections, and calls `completion` when the server has acknowledged it, or after
    /// ``AudioEngineStateMachine/closingTime``; the journal then holds what is left.
    package func close(completion: @escaping () -> Void) {
        guard closed == nil else { return }
        closed = completion
        feed(.close)
    }

    // MARK: - The machine

    private func feed(_ event: Machine.Event) { driver.submit(event) }

    private func apply(_ event: Machine.Event) {
        switch event {
        case .server(.connected), .server(.lost): connection += 1
        default: break
        }
        others.forget()
        let effects = machine.handle(event, at: runLoop.refreshNow())
        // Before the answer to a plan, so that who has the answer has this too.
        reportEffects()
        for effect in effects { run(effect) }
    }

    private func run(_ effect: Machine.Effect) {
        switch effect {
        case .cover(let ledger):
            let isCovered = journal.written.covers(ledger) || isWritten(ledger)
            driver.submitNext(.covered(isCovered))
        case .perform(let commands): server.perform(commands, completion: answer { .performed($0) })
        case .readStored:
            server.storedStreams(
                completion: answer { result in
                    switch result {
                    case .success(let list): .stored(list)
                    case .failure(let failure): failure.kind == .lost ? .lost : .stored(nil)
                    }
                })
        case .findPlayers:
            // The report that the plan is applied waits for no player.
            let completion = playersAnswer { .found($0) }
            afterReports.append { [players] in players.playing(completion: completion) }
        case .pausePlayers(let found, let ledger):
            // What can't be undone after a crash isn't done.
            let isCovered = journal.written.covers(ledger) || isWritten(ledger)
            players.pause(isCovered ? found : [], completion: playersAnswer { .ordered($0) })
        case .resumePlayers(let paused): players.resume(paused, completion: playersAnswer { .resumed($0) })
        case .watchPlayers(let watched, let paused): players.watch(watched, paused: paused)
        case .write(let ledger): _ = isWritten(ledger)
        case .report(let report): send(report)
        case .ready(let mended): reportReady(mended)
        case .connect: server.connect()
        case .callAfterTurn: afterReports.append { [weak self] in self?.feed(.turnEnded) }
        case .finish: runLoop.enqueue { [self] in finish() }
        }
    }

    private func answer<Value>(_ make: @escaping (Value) -> Machine.Answer) -> (Value) -> Void {
        let connection = connection
        return { [weak self] value in
            guard let self, self.connection == connection else { return }
            feed(.answered(make(value), server.image))
        }
    }

    private func playersAnswer<Value>(_ make: @escaping (Value) -> Machine.PlayersAnswer) -> (Value) -> Void {
        let connection = connection
        return { [weak self] value in
            guard let self, self.connection == connection else { return }
            feed(.playersAnswered(make(value)))
        }
    }

    private func isWritten(_ ledger: EffectLedger) -> Bool {
        do throws(EffectJournalError) {
            try journal.write(ledger)
            return true
        } catch {
            send(.problem(error.description))
            return false
        }
    }

    private func finish() {
        server.onEvent = nil
        server.close()
        players.close()
        sendReports()
        let completion = closed
        closed = {}
        completion?()
    }

    // MARK: - Reports

    private func reportEffects() {
        let held = AudioEngineReport.effects(count: machine.ledger.count, isRestoring: machine.isRestoring)
        guard held != reportedEffects else { return }
        reportedEffects = held
        send(held)
    }

    private func send(_ report: AudioEngineReport) { unsentReports.append(report) }

    /// Sends the reports, after the commands of this turn: the server carries them out meanwhile.
    private func finishTurn() {
        guard !areReportsEnqueued, !unsentReports.isEmpty || !afterReports.isEmpty else { return }
        areReportsEnqueued = true
        runLoop.enqueue { [weak self] in
            guard let self else { return }
            areReportsEnqueued = false
            sendReports()
            let all = afterReports
            afterReports = []
            for body in all { body() }
        }
    }

    private func sendReports() {
        let all = unsentReports
        unsentReports = []
        for one in all { report(one) }
    }

    private func reportReady(_ mended: Int) {
        guard !isReady else { return }
        isReady = true
        send(.ready(version: version, mended: mended))
        if let damage = journal.damage { send(.problem(damage)) }
    }
}

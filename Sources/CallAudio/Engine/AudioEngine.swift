package import RingwakeCore
package import RunLoop

/// Makes an audio server as a plan says, and puts everything back: the only one that changes anything on it.
///
/// Each turn it looks at what is wanted, at the server's mirror and at what it has done, and makes the difference, until
/// there is none; then it answers. So a stream that begins during a call, a device that comes and a server that refuses
/// need no way of their own.
///
///     let engine = try AudioEngine(runLoop: loop, server: server, players: players, journalPath: path, ...)
///     engine.start()                                  // mends what a journal says, reports `ready`
///     engine.handle(.apply(number: 1, plan, resumes: true))
///     engine.close { loop.stop() }                    // undoes everything
///
/// - Effects are in the journal on the disk before their first command leaves (``EffectJournal``).
/// - An effect is undone only where the server still has what was set (``EffectUndo``).
package final class AudioEngine {
    let runLoop: RunLoop
    let server: any AudioServer
    let players: any MediaPlayers
    let tree: ProcessTree
    let journal: EffectJournal
    /// Journals of other programs that may be at work on the same server.
    let siblings: [String]
    private let report: (AudioEngineReport) -> Void
    private let version: String

    /// The mirror, and how it is to be: nil while there is no connection.
    var image: AudioServerImage? {
        didSet {
            guard let oldValue else { return }
            ledger.noticeEnds(from: oldValue, to: image, but: unconfirmed)
            if let image { noticeMutes(from: oldValue, to: image) }
        }
    }
    /// What is in force, or being brought about.
    var plan = AudioPlan()
    var wishes = RouteWishes()
    var busy = BusyStreams()
    var ledger: EffectLedger
    var refused: Set<EffectTarget> = []
    var unconfirmed: Set<EffectTarget> = []
    var settled: [EffectTarget: EffectValue] = [:]
    var echoes: [String: EffectEcho] = [:]
    var playerHand = PlayerHand()
    var microphoneHand = MicrophoneHand()
    var roleCork = RoleCork()

    /// What is waited for with everything else: the server's or the players' answer.
    var isAwaiting = false
    /// Counts connections: an answer that comes from a former one is nobody's.
    var connection = 0
    var work: EngineWork?
    var queue: [EngineWork] = []
    var patience: Timer?
    /// The ledger is of another run, or of a server that is no more.
    var isMending = false
    var observation = EngineObservation()
    var settling: Timer?

    private enum Life { case new, started, closing, closed }
    private var life = Life.new
    private var isReadyTold = false
    private var closing: (completion: () -> Void, timer: Timer)?
    private var untold: [AudioEngineReport] = []

    /// How long undoing everything may take at the end.
    package static let closingTime = Duration.seconds(2)
    /// Requests that wait for their turn; the owner has at most a few under way.
    static let maximumQueue = 64

    /// - Parameters:
    ///   - report: Is called from the loop, never from within a call of these functions.
    ///   - siblings: Journals of other programs that may be at work on the same server: they are read, never written.
    ///   - tree: Which processes belong together.
    /// - Throws: the journal cannot be used (``EffectJournalError``).
    package init(
        runLoop: RunLoop, server: any AudioServer, players: any MediaPlayers, journalPath: String, version: String,
        siblings: [String] = [], tree: ProcessTree = .live, report: @escaping (AudioEngineReport) -> Void
    ) throws(EffectJournalError) {
        journal = try EffectJournal(path: journalPath)
        self.runLoop = runLoop
        self.server = server
        self.players = players
        self.version = version
        self.siblings = siblings
        self.tree = tree
        self.report = report
        ledger = journal.found
        isMending = !ledger.isEmpty
    }

    /// Nothing is left to be undone.
    package var isClean: Bool { ledger.isEmpty }

    /// Connects, mends what the journal says, and reports `ready`.
    package func start() {
        guard life == .new else { return }
        life = .started
        server.onEvent = { [weak self] in self?.hear($0) }
        players.onPlaying = { [weak self] in self?.playerPlays($0) }
        if !isMending { tellReady(mended: 0) }
        server.connect()
    }

    package func handle(_ request: AudioEngineRequest) {
        guard life == .started else { return }
        switch request {
        case .prepare(let plan):
            guard image != nil, queue.isEmpty, work == nil else { return }
            enqueue(EngineWork(.prepare(plan), since: runLoop.refreshNow()))
        case .apply(let number, let plan, let resumes):
            apply(number, plan, resumes: resumes)
        case .chooseOutput(let name, let number): choose(name, number)
        case .wokeFromSleep: wake()
        }
    }

    /// Undoes everything, ends the connections, and calls `completion` when the server has acknowledged it, or after
    /// ``closingTime``; the journal then keeps what is left.
    package func close(completion: @escaping () -> Void) {
        guard life == .new || life == .started else { return }
        life = .closing
        let deadline = runLoop.refreshNow().advanced(by: Self.closingTime)
        let timer = runLoop.schedule(at: deadline, tolerance: .zero) { [weak self] in self?.finishClosing() }
        closing = (completion, timer)
        for waiting in queue { refuse(waiting, AudioSessionError(.expiredSession, "the audio program ends")) }
        queue = []
        work?.isPatient = false
        guard image != nil else { return runLoop.enqueue { [self] in finishClosing() } }
        enqueue(EngineWork(.close, since: runLoop.now))
    }

    func finishClosing() {
        guard life == .closing, let closing else { return }
        runLoop.cancel(closing.timer)
        life = .closed
        self.closing = nil
        [patience, settling].compactMap(\.self).forEach(runLoop.cancel)
        endPlayerHand()
        // Undone and acknowledged is what the ledger does not hold any more.
        writeJournal(ledger)
        server.onEvent = nil
        server.close()
        players.close()
        flush()
        closing.completion()
    }

    // MARK: - Reports

    func tell(_ one: AudioEngineReport) {
        guard life != .closed else { return }
        untold.append(one)
        if untold.count == 1 { runLoop.enqueue { [weak self] in self?.flush() } }
    }

    private func flush() {
        let all = untold
        untold = []
        for one in all { report(one) }
    }

    func tellReady(mended: Int) {
        guard !isReadyTold else { return }
        isReadyTold = true
        tell(.ready(version: version, mended: mended))
        if let damage = journal.damage { tell(.problem(damage)) }
    }

    // MARK: - The server

    private func hear(_ event: AudioServerEvent) {
        guard life == .started || life == .closing else { return }
        switch event {
        case .connected(let image): connected(image)
        case .changed(let image): changed(image)
        case .unavailable(let why):
            tellReady(mended: 0)
            tell(.unavailable(why))
        case .lost(let why): lost(why)
        }
    }

    private func connected(_ image: AudioServerImage) {
        connection += 1
        self.image = image
        isAwaiting = false
        observation = EngineObservation(image)
        guard !ledger.isEmpty || isMending else { return introduce(mended: 0) }
        isMending = true
        queue.insert(mending(image), at: 0)
        advance()
    }

    /// Tells that the server is there, once what an earlier run or another server left is mended.
    func introduce(mended: Int) {
        guard let image else { return }
        isMending = false
        tellReady(mended: mended)
        let decision = decide()
        let route = decision.route
        observation.route = route
        remember(decision)
        tell(.connected(image.server, route))
        observe()
    }

    private func lost(_ why: String) {
        guard image != nil else { return tell(.unavailable(why)) }
        connection += 1
        image = nil
        isAwaiting = false
        patience.map(runLoop.cancel)
        patience = nil
        let error = AudioSessionError(.mediaServicesFailed, "the connection to the audio server broke: \(why)")
        for one in [work].compactMap(\.self) + queue { refuse(one, error) }
        (work, queue) = (nil, [])
        plan = AudioPlan()
        (wishes, busy, refused, unconfirmed, settled) = (RouteWishes(), BusyStreams(), [], [], [:])
        echoes = [:]
        (microphoneHand, roleCork) = (MicrophoneHand(), RoleCork())
        endPlayerHand()
        isMending = !ledger.isEmpty
        tell(.lost(why))
        if life == .closing { finishClosing() }
    }
}

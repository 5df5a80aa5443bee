internal import ControlProtocol
internal import DaemonConfiguration
internal import FileSystem
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Runs one `ringwake-audio` while it is needed, and restores what an earlier one left changed.
///
///     absent --open, a journal is left--> open --close, it is gone--> leaving --the child has ended--> absent
///       ^                                  |     or says no word         |
///       +------- gone, and no child left --+      open: another is started once it has ended
///
/// For a program that listens on a socket, *queuing* comes before *open* while the socket's queue is full.
///
/// The effect journal belongs to one program, so only one runs at a time. If the journal still exists when the program
/// has ended (the audio server was gone, or it was killed together with the program), another one starts without a
/// plan. It restores what it can as soon as the server is there, and exits.
final class AudioProgram {
    var onReport: ((AudioEngineReport) -> Void)?
    /// The program ended by itself or couldn't be started, with the reason. Called in a later loop turn.
    var onGone: ((String) -> Void)?
    /// The connection was opened or closed.
    var onChange: ((_ isOpen: Bool) -> Void)?

    private(set) var way: AudioEngineWay?
    /// PID of the child; nil if there is none or it has been reaped.
    private var running: Int32?
    private let runLoop: RunLoop
    private let logger: Logger
    private var state = State.absent {
        didSet { onChange?(line != nil) }
    }
    /// The arbiter needs the program.
    private var isWanted = false
    /// What the program last reported of its journal; nil: nothing since its start, or none runs.
    private var reportedEffects: AudioEffectsHeld?
    /// Last report. If the program was started only to restore, ``open()`` delivers it.
    private var lastReport: AudioEngineReport?
    /// Number of programs started to restore from the present journal.
    private var restorations = 0
    private var forceful: Timer?
    /// Runs until the program has reported something.
    private var firstWord: Timer?

    private typealias Line = AudioEngineConnection<AudioEngineReport>

    private enum State {
        case absent
        /// The socket's queue is full; the next attempt follows, after `attempts` others.
        case queuing(Timer, attempts: Int)
        /// `isRestoring`: it has no plan, and restores what an earlier one left changed.
        case open(Line, isRestoring: Bool)
        case leaving
    }

    /// Maximum restorations of one journal. What is still changed then is left to the next call, or to a person.
    private static let maximumRestorations = 3
    /// Time for the program's first report, after which it hangs and is replaced. It may wait 5 s for its journal, and as
    /// long for an audio server that does not answer.
    private static let firstWordTime = Duration.seconds(12)
    /// Between two attempts to get into the queue of a socket, and how many there are. Others who connect in a loop fill
    /// it for some 100 ms at most.
    private static let queuePause = Duration.milliseconds(20)
    private static let maximumAttempts = 100
    /// Time for a child to exit after the connection is closed, before SIGKILL. Its own timeout is shorter.
    private static let grace = Duration.seconds(5)

    init(_ way: AudioEngineWay?, runLoop: RunLoop, logger: Logger) {
        self.way = way
        self.runLoop = runLoop
        self.logger = logger
    }

    private var line: Line? { if case .open(let line, _) = state { line } else { nil } }

    private var isQueuing: Bool { if case .queuing = state { true } else { false } }

    /// PID of the child; nil if there is none or it is being stopped.
    var child: Int32? { line == nil ? nil : running }

    /// The program runs only to restore.
    var isRestoring: Bool { if case .open(_, true) = state { true } else { false } }

    /// The effects to undo: as the program says, or its journal, if the program is gone or has said nothing yet. The
    /// journal of a user unit isn't known.
    var effects: AudioEffectsHeld {
        if let reportedEffects { return reportedEffects }
        guard case .program(_, let journal) = way else { return AudioEffectsHeld(count: 0, isRestoring: false) }
        return AudioEffectsHeld(inJournal: journal)
    }

    /// Starts the program unless it runs. Its reports follow.
    func open() {
        isWanted = true
        if case .absent = state { return start(isRestoring: false) }
        guard case .open(let line, isRestoring: true) = state else { return }
        state = .open(line, isRestoring: false)
        guard let report = lastReport else { return }
        // Deliver what was reported before, unless the program has ended or has reported something else.
        runLoop.enqueue { [weak self, weak line] in
            guard let self, case .open(let present, isRestoring: false) = state, present === line, lastReport == report
            else { return }
            onReport?(report)
        }
    }

    func send(_ request: AudioEngineRequest) { line?.send(AudioEngineLine.encoded(request)) }

    /// Stops the program. It restores everything and exits.
    func close() {
        isWanted = false
        if !isRestoring { leave() }
    }

    /// Uses another way to reach the program. If the present one is in use, it is stopped and reported as gone.
    func change(to way: AudioEngineWay?) {
        self.way = way
        let isLost = (line != nil && !isRestoring) || isQueuing
        leave()
        if isLost { gone("the configuration names another way to the audio server") }
    }

    /// Stops the program, because the daemon stops. The program restores everything by itself.
    func stop() {
        isWanted = false
        way = nil
        leave()
    }

    /// Starts a program to restore what an earlier one left changed, if there is a journal.
    func restoreIfNeeded() {
        guard case .absent = state, !isWanted, case .program(let path, let journal) = way else { return }
        guard FileSystem.exists(journal) else {
            restorations = 0
            return
        }
        guard restorations < AudioProgram.maximumRestorations else {
            logger.error(
                "what a call did to the audio server is not all put back, which the next call tries again",
                metadata: ["to-do": "run '\(path) --mend --journal \(journal)', which says what is left and why"])
            return
        }
        restorations += 1
        start(isRestoring: true)
    }

    // MARK: - Starting and stopping

    private func start(isRestoring: Bool) {
        guard let way else { return }
        if !isRestoring { restorations = 0 }
        (lastReport, reportedEffects) = (nil, nil)
        do throws(RingwakeError) {
            let line = try connect(way)
            line.onMessage = { [weak self] in self?.reported($0) }
            line.onUnknown = { [logger] name in
                // An audio program of a later version may report more.
                logger.debug("ringwake-audio reports something unknown", metadata: ["what": "\(name)"])
            }
            line.onEnd = { [weak self, weak line] end in if let line { self?.ended(line, end) } }
            state = .open(line, isRestoring: isRestoring)
            firstWord = runLoop.schedule(
                at: runLoop.refreshNow().advanced(by: AudioProgram.firstWordTime), tolerance: .seconds(1)
            ) { [weak self] in self?.hangs() }
        } catch {
            if error.code == .limitReached, queue() { return }
            state = .absent
            logger.warning("no way to the audio server", metadata: ["why": "\(error.message)"])
            if !isRestoring { gone(error.message) }
        }
    }

    /// - Returns: false after the last attempt.
    private func queue() -> Bool {
        var attempts = 1
        if case .queuing(_, let former) = state { attempts += former }
        guard attempts < AudioProgram.maximumAttempts else { return false }
        let next = runLoop.refreshNow().advanced(by: AudioProgram.queuePause)
        let timer = runLoop.schedule(at: next, tolerance: .zero) { [weak self] in self?.start(isRestoring: false) }
        state = .queuing(timer, attempts: attempts)
        return true
    }

    private func connect(_ way: AudioEngineWay) throws(RingwakeError) -> Line {
        let endpoint = try AudioEndpoint(way, runLoop: runLoop)
        // The connection owns the descriptor.
        let line = Line(endpoint.descriptor, runLoop: runLoop, decode: AudioEngineLine.report)
        do throws(RunLoopError) {
            if let pid = endpoint.pid { try watch(pid) }
            try line.begin(cause: .audio)
            return line
        } catch {
            throw RingwakeError(.system, "ringwake-audio cannot be watched: \(error)")
        }
    }

    /// Watches for the child's exit, and reaps it.
    private func watch(_ pid: Int32) throws(RunLoopError) {
        try runLoop.watchStarted(pid, beforeReaping: { [weak self] in self?.running = nil }) {
            [weak self, logger] exit in
            if exit != .exited(0) {
                logger.warning("ringwake-audio ended", metadata: ["pid": "\(pid)", "how": "\(exit)"])
            }
            self?.exited()
        }
        running = pid
    }

    /// The program has reported nothing in time. It has no plan yet, so it has nothing to restore: a child is killed.
    private func hangs() {
        let seconds = AudioProgram.firstWordTime.milliseconds / 1_000
        logger.error(
            "ringwake-audio hangs: it has reported nothing since it was started, and is replaced",
            metadata: ["seconds": "\(seconds)", "pid": "\(running.map(String.init) ?? "that of the socket")"])
        if let running { kill(running, SIGKILL) }
        lost("it has reported nothing for \(seconds) s")
    }

    private func leave() {
        if case .queuing(let timer, _) = state {
            runLoop.cancel(timer)
            state = .absent
        }
        guard let line else { return }
        cancelFirstWord()
        line.close()
        // It undoes what it can, and says no more of it.
        reportedEffects = nil
        // We don't end a user unit. A child may have been reaped before its connection was seen to end.
        guard let pid = running else { return absent() }
        state = .leaving
        // The timer keeps this object alive until the child has exited.
        forceful = runLoop.schedule(at: runLoop.now.advanced(by: AudioProgram.grace), tolerance: .seconds(1)) {
            [self] in
            forceful = nil
            guard running == pid else { return }
            logger.error("ringwake-audio does not end and is killed", metadata: ["pid": "\(pid)"])
            kill(pid, SIGKILL)
        }
    }

    private func absent() {
        state = .absent
        if isWanted {
            start(isRestoring: false)
        } else {
            // Not within a call of ``close()`` or ``change(to:)``.
            runLoop.enqueue { [weak self] in self?.restoreIfNeeded() }
        }
    }

    /// The child has exited and has released the journal.
    private func exited() {
        if let forceful { runLoop.cancel(forceful) }
        forceful = nil
        if case .leaving = state { absent() }
    }

    /// The connection has ended.
    private func ended(_ ended: Line, _ end: Line.End) {
        guard ended === line else { return }
        // If the program couldn't begin, its last report says why.
        if case .unavailable(let why) = lastReport { return lost(why) }
        switch end {
        case .socket(.closed, _): lost("it has ended")
        case .socket(.unread, _): lost("it does not read its requests")
        case .socket(.unwatched(let error), _): lost("its line cannot be watched: \(error)")
        case .malformed(let why): lost("it sent what cannot be read: \(why)")
        }
    }

    private func lost(_ why: String) {
        let wasRestoring = isRestoring
        // The arbiter decides whether to open it again.
        if !wasRestoring { isWanted = false }
        leave()
        if !wasRestoring { gone(why) }
    }

    private func cancelFirstWord() {
        if let firstWord { runLoop.cancel(firstWord) }
        firstWord = nil
    }

    private func gone(_ why: String) {
        isWanted = false
        runLoop.enqueue { [weak self] in self?.onGone?(why) }
    }

    private func reported(_ report: AudioEngineReport) {
        if case .effects(let count, let isRestoring) = report {
            reportedEffects = AudioEffectsHeld(count: count, isRestoring: isRestoring)
            return
        }
        lastReport = report
        // It reports its effects when they change from none. Its journal may already name what the next plan will change.
        reportedEffects = reportedEffects ?? AudioEffectsHeld(count: 0, isRestoring: false)
        cancelFirstWord()
        guard isRestoring else {
            onReport?(report)
            return
        }
        switch report {
        case .ready(_, let mended) where mended > 0:
            logger.notice("what an earlier call did to audio is put back", metadata: ["effects": "\(mended)"])
        case .problem(let what): logger.warning("audio", metadata: ["problem": "\(what)"])
        // Everything that can be restored has been.
        case .connected: leave()
        default: break
        }
    }
}

extension WakeupCause {
    /// `ringwake-audio` reported something.
    static let audio = WakeupCause("audio")
}

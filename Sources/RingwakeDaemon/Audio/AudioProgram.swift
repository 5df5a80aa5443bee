internal import ControlProtocol
internal import DaemonConfiguration
internal import FileSystem
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Keeps one `ringwake-audio`, and the line to it, while it is wanted, and sees to it that nothing stays undone.
///
///     absent --open, a journal is left--> open --close, it is gone--> leaving --the child has ended--> absent
///       ^                                  |                             |
///       +------- gone, and no child left --+      open: another is started once it has ended
///
/// Only one of them runs at a time: the effect journal belongs to one. When one has ended and its journal is still there
/// (the audio server was gone, or it and the program were killed), another is started that has no plan: it puts back what
/// can be put back as soon as the server is there, and leaves.
final class AudioProgram {
    var onReport: ((AudioEngineReport) -> Void)?
    /// It ended by itself, or could not be started: why. Never from within a call of these functions.
    var onGone: ((String) -> Void)?
    /// The line is there, or is not any more.
    var onChange: ((_ isOpen: Bool) -> Void)?

    private(set) var way: AudioEngineWay?
    /// The child; nil where there is none, and once it has been reaped.
    private var running: Int32?
    private let runLoop: RunLoop
    private let logger: Logger
    private var state = State.absent {
        didSet { onChange?(line != nil) }
    }
    /// Somebody has plans for it.
    private var isWanted = false
    /// The last report of one without a plan: news for whoever takes it over.
    private var lastReport: AudioEngineReport?
    /// How often one without a plan was started for the journal that is there.
    private var restorations = 0
    private var forceful: Timer?

    private typealias Line = AudioEngineConnection<AudioEngineReport>

    private enum State {
        case absent
        /// `isRestoring`: it has no plan, and puts back what an earlier one left.
        case open(Line, isRestoring: Bool)
        case leaving
    }

    /// What is still left after so many is left to the next call, or to a person.
    private static let maximumRestorations = 3
    /// What a child gets between the end of its line and SIGKILL: it bounds itself to less.
    private static let grace = Duration.seconds(5)

    init(_ way: AudioEngineWay?, runLoop: RunLoop, logger: Logger) {
        self.way = way
        self.runLoop = runLoop
        self.logger = logger
    }

    private var line: Line? { if case .open(let line, _) = state { line } else { nil } }

    /// The child; nil where there is none.
    var child: Int32? { line == nil ? nil : running }

    /// Nobody has plans, but something has to be put back.
    var isRestoring: Bool { if case .open(_, true) = state { true } else { false } }

    /// Has it there. Its reports follow.
    func open() {
        isWanted = true
        if case .absent = state { return start(isRestoring: false) }
        guard case .open(let line, isRestoring: true) = state else { return }
        state = .open(line, isRestoring: false)
        guard let report = lastReport else { return }
        // What was reported before anybody wanted it, unless it has gone or reported more since.
        runLoop.enqueue { [weak self, weak line] in
            guard let self, case .open(let present, isRestoring: false) = state, present === line, lastReport == report
            else { return }
            onReport?(report)
        }
    }

    func send(_ request: AudioEngineRequest) { line?.send(AudioEngineLine.encoded(request)) }

    /// It is not wanted any more: it puts everything back, and leaves.
    func close() {
        isWanted = false
        if !isRestoring { leave() }
    }

    /// Another way is in force.
    func change(to way: AudioEngineWay?) {
        self.way = way
        let isLost = line != nil && !isRestoring
        leave()
        if isLost { gone("the configuration names another way to the audio server") }
    }

    /// The daemon stops; what is undone then is the other end's business.
    func stop() {
        isWanted = false
        way = nil
        leave()
    }

    /// Puts back what an earlier one has left, if there is anything.
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

    // MARK: - Coming and going

    private func start(isRestoring: Bool) {
        guard let way else { return }
        if !isRestoring { restorations = 0 }
        lastReport = nil
        do throws(RingwakeError) {
            let line = try connect(way)
            line.onMessage = { [weak self] in self?.reported($0) }
            line.onUnknown = { [logger] name in
                // A program of a later version may report more.
                logger.debug("ringwake-audio reports something unknown", metadata: ["what": "\(name)"])
            }
            line.onEnd = { [weak self, weak line] end in if let line { self?.ended(line, end) } }
            state = .open(line, isRestoring: isRestoring)
        } catch {
            logger.warning("no way to the audio server", metadata: ["why": "\(error.message)"])
            if !isRestoring { gone(error.message) }
        }
    }

    private func connect(_ way: AudioEngineWay) throws(RingwakeError) -> Line {
        let endpoint = try AudioEndpoint(way)
        // The descriptor goes with it.
        let line = Line(endpoint.descriptor, runLoop: runLoop, decode: AudioEngineLine.report)
        do throws(RunLoopError) {
            if let pid = endpoint.pid { try watch(pid) }
            try line.begin(cause: .audio)
            return line
        } catch {
            throw RingwakeError(.system, "ringwake-audio cannot be watched: \(error)")
        }
    }

    /// Sees the child's end, and reaps it.
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

    private func leave() {
        guard let line else { return }
        line.close()
        // One that listens is somebody else's; a child may have been reaped before its line was seen to end.
        guard let pid = running else { return absent() }
        state = .leaving
        // The timer keeps this object until the child has ended.
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
            // Not from within a call that only wanted it gone.
            runLoop.enqueue { [weak self] in self?.restoreIfNeeded() }
        }
    }

    /// The child has ended, and lets go of the journal.
    private func exited() {
        if let forceful { runLoop.cancel(forceful) }
        forceful = nil
        if case .leaving = state { absent() }
    }

    /// The line has ended.
    private func ended(_ ended: Line, _ end: Line.End) {
        guard ended === line else { return }
        let wasRestoring = isRestoring
        // Whoever has plans says whether it is wanted again.
        if !wasRestoring { isWanted = false }
        leave()
        guard !wasRestoring else { return }
        // Its last report is why it ended, where it could not begin.
        if case .unavailable(let why) = lastReport { return gone(why) }
        switch end {
        case .socket(.closed, _): gone("it has ended")
        case .socket(.unread, _): gone("it does not read its requests")
        case .socket(.unwatched(let error), _): gone("its line cannot be watched: \(error)")
        case .malformed(let why): gone("it sent what cannot be read: \(why)")
        }
    }

    private func gone(_ why: String) {
        isWanted = false
        runLoop.enqueue { [weak self] in self?.onGone?(why) }
    }

    private func reported(_ report: AudioEngineReport) {
        lastReport = report
        guard isRestoring else {
            onReport?(report)
            return
        }
        switch report {
        case .ready(_, let mended) where mended > 0:
            logger.notice("what an earlier call did to audio is put back", metadata: ["effects": "\(mended)"])
        case .problem(let what): logger.warning("audio", metadata: ["problem": "\(what)"])
        // What could be put back is.
        case .connected: leave()
        default: break
        }
    }
}

extension WakeupCause {
    /// `ringwake-audio` reported something.
    static let audio = WakeupCause("audio")
}

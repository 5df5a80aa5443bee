internal import FileSystem
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
    /// What it tells.
    var onReport: ((AudioEngineReport) -> Void)?
    /// It ended by itself, or could not be started: why. Never from within a call of these functions.
    var onGone: ((String) -> Void)?
    /// The line is there, or is not any more.
    var onChange: ((_ isOpen: Bool) -> Void)?

    private(set) var way: AudioEngineWay?
    private let runLoop: RunLoop
    private let logger: Logger
    private var state = State.absent {
        didSet { onChange?(isOpen) }
    }
    /// Somebody has plans for it.
    private var isWanted = false
    /// What one without a plan told last: news for whoever takes it over.
    private var lastReport: AudioEngineReport?
    /// How often one without a plan was started for the journal that is there.
    private var mendings = 0

    private enum State {
        case absent
        /// `isMending`: it has no plan, and puts back what an earlier one left.
        case open(AudioEngineLink, isMending: Bool)
        case leaving
    }

    /// What is still left after so many is left to the next call, or to a person.
    private static let maximumMendings = 3

    init(_ way: AudioEngineWay?, runLoop: RunLoop, logger: Logger) {
        self.way = way
        self.runLoop = runLoop
        self.logger = logger
    }

    private var isOpen: Bool { if case .open = state { true } else { false } }

    /// The child; nil where there is none.
    var child: Int32? { if case .open(let link, _) = state { link.child } else { nil } }

    /// Nobody has plans, but something has to be put back.
    var isMending: Bool { if case .open(_, true) = state { true } else { false } }

    /// Has it there. What it tells follows.
    func open() {
        isWanted = true
        switch state {
        case .absent: start(isMending: false)
        case .open(let link, isMending: true):
            state = .open(link, isMending: false)
            guard let report = lastReport else { return }
            runLoop.enqueue { [weak self, weak link] in self?.repeatReport(report, of: link) }
        case .open, .leaving: break
        }
    }

    /// What was told before anybody wanted it, unless it has gone or told more since.
    private func repeatReport(_ report: AudioEngineReport, of link: AudioEngineLink?) {
        guard case .open(let present, isMending: false) = state, present === link, lastReport == report else { return }
        onReport?(report)
    }

    func send(_ request: AudioEngineRequest) {
        if case .open(let link, _) = state { link.send(request) }
    }

    /// It is not wanted any more: it puts everything back, and leaves.
    func close() {
        isWanted = false
        if case .open(let link, isMending: false) = state { leave(link) }
    }

    /// Another way is in force.
    func change(to way: AudioEngineWay?) {
        self.way = way
        if case .open(let link, let isMending) = state {
            leave(link)
            if !isMending { tellGone("the configuration names another way to the audio server") }
        }
    }

    /// The daemon stops; what is undone then is the other end's business.
    func stop() {
        isWanted = false
        way = nil
        if case .open(let link, _) = state { leave(link) }
    }

    /// Puts back what an earlier one has left, if there is anything.
    func mendIfNeeded() {
        guard case .absent = state, !isWanted, case .program(let path, let journal) = way else { return }
        guard FileSystem.exists(journal) else {
            mendings = 0
            return
        }
        guard mendings < AudioProgram.maximumMendings else {
            logger.error(
                "what a call did to the audio server is not all put back, which the next call tries again",
                metadata: ["to-do": "run '\(path) --mend --journal \(journal)', which says what is left and why"])
            return
        }
        mendings += 1
        start(isMending: true)
    }

    // MARK: - Coming and going

    private func start(isMending: Bool) {
        guard let way else { return }
        if !isMending { mendings = 0 }
        lastReport = nil
        do throws(RingwakeError) {
            let link = try AudioEngineLink(way, runLoop: runLoop, logger: logger) { [weak self] in self?.ended() }
            link.onReport = { [weak self] in self?.reported($0) }
            link.onGone = { [weak self, weak link] why in
                if let link { self?.gone(link, why) }
            }
            state = .open(link, isMending: isMending)
        } catch {
            logger.warning("no way to the audio server", metadata: ["why": "\(error.message)"])
            if !isMending { tellGone(error.message) }
        }
    }

    private func leave(_ link: AudioEngineLink) {
        link.close()
        // One that listens is somebody else's; a child may have been reaped before its line was seen to end.
        if link.child == nil { absent() } else { state = .leaving }
    }

    private func absent() {
        state = .absent
        if isWanted {
            start(isMending: false)
        } else {
            // Not from within a call that only wanted it gone.
            runLoop.enqueue { [weak self] in self?.mendIfNeeded() }
        }
    }

    /// The child has ended, and lets go of the journal.
    private func ended() {
        if case .leaving = state { absent() }
    }

    private func gone(_ link: AudioEngineLink, _ why: String) {
        guard case .open(let present, let isMending) = state, present === link else { return }
        if !isMending {
            // Whoever has plans says whether it is wanted again.
            isWanted = false
            leave(link)
            // What it said last is why it ended, where it could not begin.
            if case .unavailable(let said) = lastReport { tellGone(said) } else { tellGone(why) }
        } else {
            leave(link)
        }
    }

    private func tellGone(_ why: String) {
        isWanted = false
        runLoop.enqueue { [weak self] in self?.onGone?(why) }
    }

    private func reported(_ report: AudioEngineReport) {
        lastReport = report
        guard case .open(let link, isMending: true) = state else {
            onReport?(report)
            return
        }
        switch report {
        case .ready(_, let mended) where mended > 0:
            logger.notice("what an earlier call did to audio is put back", metadata: ["effects": "\(mended)"])
        case .problem(let what): logger.warning("audio", metadata: ["problem": "\(what)"])
        // What could be put back is.
        case .connected: leave(link)
        default: break
        }
    }
}

internal import CRingwakeLinux
internal import Glibc
internal import RunLoop

/// Reports when files change: written, replaced, removed, made, or reached by another symbolic link.
///
/// Each file is watched itself, with the links that lead to it, and not its directory: other files of /etc wake
/// nobody. Only while a file is missing, the directory that it has to appear in is watched.
///
/// The first change is reported at once. For ``settlingTime`` after it no event is read, and then what has happened
/// since is reported at once: so a half-written file is looked at again when it is done, and a file that somebody
/// writes without end costs ten wakeups a second at most.
///
/// Not seen: a file that is mounted over, and a directory on the way that is renamed.
final class FileChangeWatch {
    static let settlingTime = Duration.milliseconds(100)
    private static let settlingTolerance = Duration.milliseconds(50)
    /// Times that a path is followed again because it changed meanwhile.
    private static let attempts = 3
    /// Buffers of events taken in one turn: more than the kernel's queue holds by default.
    private static let maximumBuffers = 32

    /// What the events say.
    private enum Finding {
        case nothing
        /// In a directory: it need not be about the file.
        case perhaps
        case change
    }

    private let runLoop: RunLoop
    private let paths: [String]
    private let onChange: () -> Void
    private let addWatch: (_ inotify: Int32, _ path: String, _ mask: UInt32) -> Int32
    private let inotify: Inotify
    private var source: ReadinessSource?
    private var settling: Timer?
    /// What is watched, by watch descriptor; true for a directory.
    private var watched: [Int32: Bool] = [:]
    private var signatures: [FileTrail.Signature?] = []

    /// Why some file is not watched, since the last change; nil when all are.
    private(set) var problem: ReachabilityError?

    /// Whether a change was reported just now, so that the next waits for its time.
    var isSettling: Bool { settling != nil }

    /// - Parameters:
    ///   - paths: Absolute. The files need not be there.
    ///   - onChange: Called on the loop, once for all that has happened.
    ///   - addWatch: As `inotify_add_watch`, for tests.
    /// - Throws: There is no inotify descriptor, or no watch, to be had; the files have to be read again each time.
    init(
        runLoop: RunLoop, paths: [String],
        addWatch: @escaping (_ inotify: Int32, _ path: String, _ mask: UInt32) -> Int32 = {
            inotify_add_watch($0, $1, $2)
        },
        onChange: @escaping () -> Void
    ) throws(ReachabilityError) {
        self.runLoop = runLoop
        self.paths = paths
        self.addWatch = addWatch
        self.onChange = onChange
        do throws(RunLoopError) {
            inotify = try Inotify()
        } catch {
            throw ReachabilityError(error, advice: "raise fs.inotify.max_user_instances")
        }
        let isSteady = follow()
        if let problem { throw problem }
        do throws(RunLoopError) {
            source = try runLoop.watch(inotify.descriptor, for: .read, cause: .resolver) { [weak self] _ in
                self?.eventsArrived()
            }
        } catch {
            throw ReachabilityError(error, advice: "raise the limit on watched descriptors")
        }
        if !isSteady { settle() }
    }

    deinit { close() }

    /// Nothing is reported after this. Idempotent. The descriptor goes with the object.
    func close() {
        source?.cancel()
        source = nil
        if let settling { runLoop.cancel(settling) }
        settling = nil
    }

    // MARK: - Following the paths

    /// Watches what the paths lead to now, and nothing else.
    /// - Returns: False when that changes faster than it can be followed.
    private func follow() -> Bool {
        for _ in 0..<Self.attempts {
            let trails = paths.map { FileTrail($0) }
            problem = nil
            var wanted: [Int32: Bool] = [:]
            for step in trails.flatMap(\.steps) { watch(step, &wanted) }
            // What is wanted again keeps its watch, so that nothing is missed in between.
            for watch in watched.keys where wanted[watch] == nil { inotify_rm_watch(inotify.descriptor, watch) }
            watched = wanted
            signatures = trails.map(\.signature)
            // A change between the look and the watch has no event.
            if paths.map({ FileTrail($0) }) == trails { return true }
        }
        return false
    }

    private func watch(_ step: FileTrail.Step, _ wanted: inout [Int32: Bool]) {
        let isDirectory = step.kind == .directory
        // Not IN_MODIFY: a writer that is not done yet is not of interest. ATTRIB is a file that lost its name and
        // is still open, and in a directory one that may be read from now on.
        let events =
            isDirectory
            ? IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
            : IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
        // One directory may be watched for two files.
        let watch = addWatch(
            inotify.descriptor, step.path, UInt32(events) | UInt32(IN_DONT_FOLLOW) | UInt32(IN_MASK_ADD))
        if watch >= 0 {
            wanted[watch] = isDirectory && wanted[watch] ?? true
            return
        }
        switch errno {
        case EACCES where step.kind == .file:
            // What may not be read may not be watched; that it may is seen in the directory.
            self.watch(FileTrail.Step(path: Self.directory(of: step.path), kind: .directory), &wanted)
        case EACCES, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG:
            // Nothing to be read there, or it has just gone, which the second look shows.
            break
        case let error:
            problem = ReachabilityError(
                call: "inotify_add_watch(\(step.path))", errno: error, advice: "raise fs.inotify.max_user_watches")
        }
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    // MARK: - Events

    private func eventsArrived() {
        let finding = takeFinding()
        guard finding != .nothing else { return }
        look(finding)
    }

    /// Follows the paths again, and reports a difference.
    private func look(_ finding: Finding) {
        let before = signatures
        _ = follow()
        settle()
        if finding == .change || signatures != before { onChange() }
    }

    private func settle() {
        // Fails only to listen again: parking takes no memory.
        try? source?.update([])
        let deadline = runLoop.now.advanced(by: Self.settlingTime)
        settling = runLoop.schedule(at: deadline, tolerance: Self.settlingTolerance) { [weak self] in
            self?.hasSettled()
        }
    }

    private func hasSettled() {
        settling = nil
        let finding = takeFinding()
        guard finding == .nothing, paths.map({ FileTrail($0).signature }) == signatures else { return look(finding) }
        do throws(RunLoopError) {
            try source?.update(.read)
        } catch {
            problem = ReachabilityError(error, advice: "raise the limit on watched descriptors")
        }
    }

    private func takeFinding() -> Finding {
        var finding = Finding.nothing
        for event in inotify.events(maximumBuffers: Self.maximumBuffers) { note(event, &finding) }
        return finding
    }

    private func note(_ event: Inotify.Event, _ finding: inout Finding) {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
            // What it was about is lost.
            finding = .change
        } else if let isDirectory = watched[event.watch] {
            if event.mask & UInt32(IN_IGNORED) != 0 { watched[event.watch] = nil }
            if !isDirectory { finding = .change } else if finding == .nothing { finding = .perhaps }
        }
    }
}

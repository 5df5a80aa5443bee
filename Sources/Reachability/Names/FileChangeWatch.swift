internal import CRingwakeLinux
internal import Glibc
internal import RunLoop

/// Reports when files change: written, replaced, removed, created, or reached by another symbolic link.
///
/// Watches each file and the links that lead to it, but not its directory: other files of /etc wake nobody. While a
/// file is missing, watches the directory in which it has to appear.
///
/// Reports the first change immediately. Then reads no event for ``settlingTime``, and reports the changes since then
/// together: so a half-written file is read again when it is complete, and a file that is written without end costs
/// at most ten wakeups a second.
///
/// Not noticed: a mount over a file, and the rename of a directory on the way.
final class FileChangeWatch {
    static let settlingTime = Duration.milliseconds(100)
    private static let settlingTolerance = Duration.milliseconds(50)
    /// Maximum tries to follow a path that changes meanwhile.
    private static let attempts = 3
    /// Maximum buffers of events read in one turn: more than the kernel queues by default.
    private static let maximumBuffers = 32

    /// The meaning of the events.
    private enum Finding {
        case nothing
        /// A change in a directory, which may not be about the file.
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
    /// The watches, by descriptor; true for a directory.
    private var watched: [Int32: Bool] = [:]
    private var signatures: [FileTrail.Signature?] = []

    /// Why some file is not watched, since the last change; nil when all are.
    private(set) var problem: ReachabilityError?

    /// Whether a change was reported just now, so that the next report is delayed.
    var isSettling: Bool { settling != nil }

    /// - Parameters:
    ///   - paths: absolute. The files need not exist.
    ///   - onChange: called on the loop, once for several changes.
    ///   - addWatch: As `inotify_add_watch`, for tests.
    /// - Throws: There is no inotify descriptor, or no watch, left; then the files have to be read each time.
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

    /// Ends the reports. Idempotent. The descriptor is closed with the object.
    func close() {
        source?.cancel()
        source = nil
        if let settling { runLoop.cancel(settling) }
        settling = nil
    }

    // MARK: - Following the paths

    /// Watches the files that the paths lead to now, and nothing else.
    /// - Returns: False if the paths change faster than they can be followed.
    private func follow() -> Bool {
        for _ in 0..<Self.attempts {
            let trails = paths.map { FileTrail($0) }
            problem = nil
            var wanted: [Int32: Bool] = [:]
            for step in trails.flatMap(\.steps) { watch(step, &wanted) }
            // Keep the watches that are wanted again, so that no event is missed in between.
            for watch in watched.keys where wanted[watch] == nil { inotify_rm_watch(inotify.descriptor, watch) }
            watched = wanted
            signatures = trails.map(\.signature)
            // A change between the look and the watch causes no event, so look again.
            if paths.map({ FileTrail($0) }) == trails { return true }
        }
        return false
    }

    private func watch(_ step: FileTrail.Step, _ wanted: inout [Int32: Bool]) {
        let isDirectory = step.kind == .directory
        // Not IN_MODIFY: an unfinished write doesn't matter. IN_ATTRIB reports a file that lost its name and is still
        // open, and in a directory a file that became readable.
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
            // An unreadable file can't be watched. Its directory shows when it becomes readable.
            self.watch(FileTrail.Step(path: Self.directory(of: step.path), kind: .directory), &wanted)
        case EACCES, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG:
            // There is nothing to read, or it has just gone, which the second look shows.
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
        // Only listening again can fail: pausing takes no memory.
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
            // The lost events may be about any file.
            finding = .change
        } else if let isDirectory = watched[event.watch] {
            if event.mask & UInt32(IN_IGNORED) != 0 { watched[event.watch] = nil }
            if !isDirectory { finding = .change } else if finding == .nothing { finding = .perhaps }
        }
    }
}

internal import CRingwakeLinux
internal import Glibc
internal import RunLoop

/// Tells when files change: written, replaced, removed, made, or reached by another symbolic link.
///
/// Each file is watched itself, with the links that lead to it, and not its directory: other files of /etc wake
/// nobody. Only while a file is missing, the directory that it has to appear in is watched.
///
/// The first change is told at once. For ``settlingTime`` after it the kernel is not listened to, and then what
/// happened since is told at once: so a half-written file is looked at again when it is done, and a file that somebody
/// writes without end costs ten wakeups a second at most.
///
/// Not seen: a file that is mounted over, and a directory on the way that is renamed.
final class FileChangeWatch {
    static let settlingTime = Duration.milliseconds(100)
    private static let settlingTolerance = Duration.milliseconds(50)
    /// Times that a path is followed again because it changed meanwhile.
    private static let attempts = 3
    /// Bytes of events taken at once; one with a name has up to 272.
    private static let eventBufferBytes = 16_384
    /// Buffers of events taken in one turn: more than the kernel's queue holds by default.
    private static let maximumBuffers = 32

    /// What was told by the kernel.
    private enum News {
        case nothing
        /// In a directory: it need not be about the file.
        case perhaps
        case change
    }

    private let runLoop: RunLoop
    private let paths: [String]
    private let onChange: () -> Void
    private let addWatch: (_ inotify: Int32, _ path: String, _ mask: UInt32) -> Int32
    private let inotify: Int32
    private var source: ReadinessSource?
    private var settling: Timer?
    /// What is watched, by watch descriptor; true for a directory.
    private var watched: [Int32: Bool] = [:]
    private var signatures: [FileTrail.Signature?] = []

    /// Why some file is not watched, since the last change; nil when all are.
    private(set) var problem: ReachabilityError?

    /// Whether a change was told just now, so that the next waits for its time.
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
        inotify = ringwake_inotify()
        guard inotify >= 0 else {
            throw ReachabilityError(
                call: "inotify_init1", errno: errno, advice: "raise fs.inotify.max_user_instances")
        }
        let isSteady = follow()
        if let problem { throw problem }
        do throws(RunLoopError) {
            source = try runLoop.watch(inotify, for: .read, cause: .resolver) { [weak self] _ in self?.eventsArrived() }
        } catch {
            throw ReachabilityError(error, advice: "raise the limit on watched descriptors")
        }
        if !isSteady { settle() }
    }

    deinit {
        close()
        if inotify >= 0 { Glibc.close(inotify) }
    }

    /// Nothing is told after this. Idempotent. The descriptor goes with the object.
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
            for watch in watched.keys where wanted[watch] == nil { inotify_rm_watch(inotify, watch) }
            watched = wanted
            signatures = trails.map(\.signature)
            // A change between the look and the watch has no event.
            if paths.map({ FileTrail($0) }) == trails { return true }
        }
        return false
    }

    private func watch(_ step: FileTrail.Step, _ wanted: inout [Int32: Bool]) {
        let isDirectory = step.kind == .directory
        // Not IN_MODIFY: a writer that is not done yet is not of interest. ATTRIB tells of a file that lost its name
        // and is still open, and in a directory of one that may be read from now on.
        let events =
            isDirectory
            ? IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
            : IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
        // One directory may be watched for two files.
        let watch = addWatch(inotify, step.path, UInt32(events) | UInt32(IN_DONT_FOLLOW) | UInt32(IN_MASK_ADD))
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
        let news = takeNews()
        guard news != .nothing else { return }
        look(news)
    }

    /// Follows the paths anew, and tells if something is different.
    private func look(_ news: News) {
        let before = signatures
        _ = follow()
        settle()
        if news == .change || signatures != before { onChange() }
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
        let news = takeNews()
        guard news == .nothing, paths.map({ FileTrail($0).signature }) == signatures else { return look(news) }
        do throws(RunLoopError) {
            try source?.update(.read)
        } catch {
            problem = ReachabilityError(error, advice: "raise the limit on watched descriptors")
        }
    }

    private func takeNews() -> News {
        var news = News.nothing
        withUnsafeTemporaryAllocation(byteCount: Self.eventBufferBytes, alignment: 8) { buffer in
            for _ in 0..<Self.maximumBuffers {
                let count = read(inotify, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                let header = MemoryLayout<inotify_event>.size
                var position = 0
                while position + header <= count {
                    let event = buffer.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
                    note(event, &news)
                    position += header + Int(event.len)
                }
            }
        }
        return news
    }

    private func note(_ event: inotify_event, _ news: inout News) {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
            // What it was about is lost.
            news = .change
        } else if let isDirectory = watched[event.wd] {
            if event.mask & UInt32(IN_IGNORED) != 0 { watched[event.wd] = nil }
            if !isDirectory { news = .change } else if news == .nothing { news = .perhaps }
        }
    }
}

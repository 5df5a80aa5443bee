internal import CRingwakeLinux
internal import Glibc
internal import Logging
package import RunLoop

/// The output files of all handlers, behind one inotify descriptor.
///
/// That inotify tells of a file's last writer closing it (IN_CLOSE_WRITE) is what ends the reading: children that a
/// handler leaves behind go on writing to its file, and are read and logged until they are gone too.
final class OutputCollector {
    /// Files whose handler has ended and that its children still hold open; the oldest goes when there are more.
    static let maximumOrphans = 64

    private struct Watched {
        let output: HandlerOutput
        var isHandlerRunning = true
        var isClosedByWriters = false
    }

    /// Why a handler's output cannot be had.
    private struct Failure: Error {
        let reason: String

        init(_ what: String, _ errno: Int32) {
            reason = "\(what): \(String(cString: strerror(errno)))"
        }
    }

    private let runLoop: RunLoop
    private let logger: Logger
    private let directory: String
    /// Made with the first file.
    private var inotify: Inotify?
    private var source: ReadinessSource?
    private var watched: [Int32: Watched] = [:]
    private var orphans: [Int32] = []
    private var namesMade: UInt64 = 0
    /// A file that is made and watched already, for the next handler.
    private var spare: (descriptor: Int32, watch: Int32)?

    init(runLoop: RunLoop, directory: String, logger: Logger) {
        self.runLoop = runLoop
        self.directory = directory
        self.logger = logger
    }

    isolated deinit {
        source?.cancel()
        if let spare { close(spare.descriptor) }
    }

    /// A file for a handler that is about to be started.
    /// - Returns: What the handler writes to, for the caller to close; and the name to give to `begin` or `abandon`.
    ///   Nil when no file can be had or watched, which is logged: better a call without a log than no call.
    func makeFile() -> (descriptor: Int32, watch: Int32)? {
        if let ready = spare {
            spare = nil
            return ready
        }
        do throws(Failure) {
            return try makeFileNow()
        } catch {
            logger.warning("the handler's output is not logged", metadata: ["reason": "\(error.reason)"])
            return nil
        }
    }

    /// Makes the next handler's file beforehand: a wake waits for nothing that could have been done before it.
    func prepare() {
        // What fails now fails again at the wake, and is said then.
        spare = spare ?? (try? makeFileNow())
    }

    private func makeFileNow() throws(Failure) -> (descriptor: Int32, watch: Int32) {
        let inotify = try startWatching()
        let file = openFile()
        guard file >= 0 else { throw Failure("cannot make a file in \(directory)", errno) }
        // A description of its own: when the last copy of *this* one is closed, the kernel says so.
        let writable = ringwake_reopen(file, O_WRONLY | O_APPEND)
        let watch = ringwake_inotify_watch(inotify.descriptor, file, Self.mask(isMuted: false))
        guard writable >= 0, watch >= 0 else {
            let failure = Failure("cannot watch a file in \(directory)", errno)
            close(file)
            if writable >= 0 { close(writable) }
            throw failure
        }
        let output = HandlerOutput(descriptor: file, runLoop: runLoop, logger: logger)
        output.onMute = { [weak inotify] isMuted in
            guard let inotify else { return }
            _ = ringwake_inotify_watch(inotify.descriptor, file, Self.mask(isMuted: isMuted))
        }
        watched[watch] = Watched(output: output)
        return (writable, watch)
    }

    /// The handler runs.
    func begin(_ watch: Int32, app: String, call: String, pid: Int32) {
        watched[watch]?.output.identify(app: app, call: call, pid: pid)
    }

    /// The handler was not started.
    func abandon(_ watch: Int32) {
        finish(watch)
    }

    /// The handler has ended. Its file is read to the end, at once when nobody else holds it open.
    func handlerEnded(_ watch: Int32) {
        // The last close comes before the process can be waited for, so the event is there already.
        readEvents()
        guard let entry = watched[watch] else { return }
        if entry.isClosedByWriters { return finish(watch) }
        watched[watch]?.isHandlerRunning = false
        entry.output.bytesArrived()
        orphans.append(watch)
        if orphans.count > Self.maximumOrphans { finish(orphans[0]) }
    }

    private static func mask(isMuted: Bool) -> UInt32 {
        UInt32(IN_CLOSE_WRITE) | (isMuted ? 0 : UInt32(IN_MODIFY))
    }

    /// Makes the inotify descriptor, once.
    private func startWatching() throws(Failure) -> Inotify {
        if let inotify { return inotify }
        let made: Inotify
        do throws(RunLoopError) {
            made = try Inotify()
        } catch {
            throw Failure("cannot use inotify (see fs.inotify.max_user_instances)", error.errno)
        }
        do throws(RunLoopError) {
            source = try runLoop.watch(made.descriptor, for: .read, cause: .handlerOutput) { [weak self] _ in
                self?.readEvents()
            }
        } catch {
            throw Failure(error.operation, error.errno)
        }
        inotify = made
        return made
    }

    private func openFile() -> Int32 {
        let unnamed = ringwake_open_unnamed(directory, 0o600)
        // What a file system without unnamed files answers.
        guard unnamed < 0, errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL else { return unnamed }
        namesMade += 1
        let path = "\(directory)/.handler-output.\(getpid()).\(namesMade)"
        let named = ringwake_open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL, 0o600)
        if named >= 0 { unlink(path) }
        return named
    }

    private func readEvents() {
        for event in inotify?.events() ?? [] { handle(event) }
    }

    private func handle(_ event: Inotify.Event) {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
            // Which files it was about is lost.
            for entry in Array(watched.values) { entry.output.bytesArrived() }
            return
        }
        guard let entry = watched[event.watch] else { return }
        if event.mask & UInt32(IN_MODIFY) != 0 { entry.output.bytesArrived() }
        if event.mask & UInt32(IN_CLOSE_WRITE) != 0 {
            if entry.isHandlerRunning {
                watched[event.watch]?.isClosedByWriters = true
            } else {
                finish(event.watch)
            }
        }
    }

    private func finish(_ watch: Int32) {
        guard let entry = watched.removeValue(forKey: watch) else { return }
        orphans.removeAll { $0 == watch }
        if let inotify { inotify_rm_watch(inotify.descriptor, watch) }
        entry.output.finish()
    }
}

extension WakeupCause {
    /// A handler printed something.
    package static let handlerOutput = WakeupCause("handler-output")
}

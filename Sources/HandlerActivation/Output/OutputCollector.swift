internal import CRingwakeLinux
internal import Glibc
internal import Logging
package import RunLoop

/// The output files of all handlers, watched by one inotify descriptor.
///
/// A file is read until its last writer closes it (IN_CLOSE_WRITE). Children that outlive a handler are therefore read
/// and logged until they have ended too.
final class OutputCollector {
    /// Maximum files that are still open for children of an ended handler. Beyond that the oldest is closed.
    static let maximumOrphans = 64

    private struct Watched {
        let output: HandlerOutput
        var isHandlerRunning = true
        var isClosedByWriters = false
    }

    /// Why a handler's output can't be collected.
    private struct Failure: Error {
        let reason: String

        init(_ what: String, _ errno: Int32) {
            reason = "\(what): \(String(cString: strerror(errno)))"
        }
    }

    private let runLoop: RunLoop
    private let logger: Logger
    private let directory: String
    /// Created with the first file.
    private var inotify: Inotify?
    private var source: ReadinessSource?
    private var watched: [Int32: Watched] = [:]
    private var orphans: [Int32] = []
    /// A file for the next handler, already watched.
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

    /// A file for a handler that is about to start.
    /// - Returns: the descriptor that the handler writes to (the caller closes it), and the number for `begin` or
    ///   `abandon`. Nil if the file can't be created or watched. That is logged: a call without a log is better than no
    ///   call.
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

    /// Creates the next handler's file in advance, so that a wake doesn't wait for it.
    func prepare() {
        // An error now will recur at the wake, and is logged there.
        spare = spare ?? (try? makeFileNow())
    }

    private func makeFileNow() throws(Failure) -> (descriptor: Int32, watch: Int32) {
        let inotify = try startWatching()
        let file = UnnamedFile.open(in: directory)
        guard file >= 0 else { throw Failure("cannot make a file in \(directory)", errno) }
        // A separate open file description: the kernel reports when its last copy is closed.
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

    /// The handler has ended. Reads its file to the end, at once if no other process has it open.
    func handlerEnded(_ watch: Int32) {
        // The last close precedes the exit notification, so the event is already there.
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

    /// Creates the inotify descriptor, once.
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

    private func readEvents() {
        for event in inotify?.events() ?? [] { handle(event) }
    }

    private func handle(_ event: Inotify.Event) {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
            // The kernel lost the events, so look at every file.
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

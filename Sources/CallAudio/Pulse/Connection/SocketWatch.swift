internal import Glibc
internal import RunLoop

/// Reports when a socket may have appeared: something with its name appeared in its directory.
///
/// While that directory does not exist, its nearest existing ancestor is watched for the next part of the path.
final class SocketWatch {
    private let runLoop: RunLoop
    private let sockets: [String]
    private let onChange: () -> Void
    private let inotify: Inotify
    private var source: ReadinessSource?
    /// The kernel no longer watches: make a new watch.
    private(set) var isBroken = false
    /// Awaited names, by watch descriptor.
    private var awaited: [Int32: Set<String>] = [:]

    /// - Parameters:
    ///   - sockets: Absolute paths.
    ///   - onChange: Called on the loop, once for all events of a turn.
    /// - Throws: The kernel refuses a descriptor, or watches none of the directories.
    init(runLoop: RunLoop, sockets: [String], onChange: @escaping () -> Void) throws(RunLoopError) {
        self.runLoop = runLoop
        self.sockets = sockets
        self.onChange = onChange
        inotify = try Inotify()
        try follow()
        source = try runLoop.watch(inotify.descriptor, for: .read, cause: .audioServer) { [weak self] _ in
            self?.eventsArrived()
        }
    }

    deinit { close() }

    /// Ends the reports. Idempotent.
    func close() {
        source?.cancel()
        source = nil
    }

    /// Watches the nearest directory of each socket's path.
    private func follow() throws(RunLoopError) {
        var wanted: [Int32: Set<String>] = [:]
        for socket in sockets {
            let (watch, name) = try follow(socket)
            wanted[watch, default: []].insert(name)
        }
        for watch in awaited.keys where wanted[watch] == nil { inotify_rm_watch(inotify.descriptor, watch) }
        awaited = wanted
    }

    private func follow(_ socket: String) throws(RunLoopError) -> (watch: Int32, name: String) {
        var path = socket
        while true {
            let directory = PulseAddress.directory(of: path)
            let name = String(path.dropFirst(directory == "/" ? 1 : directory.utf8.count + 1))
            // IN_ATTRIB: a directory may be searchable now, and a socket accessible.
            let events = IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | Int32(IN_ONLYDIR)
            let watch = inotify_add_watch(inotify.descriptor, directory, UInt32(bitPattern: events))
            if watch >= 0 { return (watch, name) }
            guard [ENOENT, ENOTDIR, EACCES].contains(errno), directory != "/" else {
                throw RunLoopError(operation: "inotify_add_watch(\(directory))", errno: errno)
            }
            path = directory
        }
    }

    private func eventsArrived() {
        let isAwaited = inotify.events().contains { event in
            event.name.isEmpty || awaited[event.watch]?.contains(event.name) == true
        }
        guard isAwaited else { return }
        do throws(RunLoopError) {
            // A directory on the path may exist now. The owner checks for sockets that it contains already.
            try follow()
        } catch {
            // Report it nevertheless: the owner then makes a new watch, and gets the reason of its failure.
            isBroken = true
        }
        onChange()
    }
}

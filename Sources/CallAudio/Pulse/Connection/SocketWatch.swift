internal import CRingwakeLinux
internal import Glibc
internal import RunLoop

/// Reports when a socket may have appeared: something with its name came into its directory.
///
/// While that directory does not exist, its nearest existing ancestor is watched for the next part of the path.
final class SocketWatch {
    /// Bytes of events read at once; one with a name has up to 272.
    private static let eventBufferBytes = 16_384

    private let runLoop: RunLoop
    private let sockets: [String]
    private let onChange: () -> Void
    private let inotify: Int32
    private var source: ReadinessSource?
    /// The kernel watches no longer: make a new watch.
    private(set) var isBroken = false
    /// Awaited names, by watch descriptor.
    private var awaited: [Int32: Set<String>] = [:]

    /// - Parameters:
    ///   - sockets: Absolute paths.
    ///   - onChange: Called on the loop, once for all events of a turn.
    /// - Throws: The kernel gives no descriptor, or watches none of the directories.
    init(runLoop: RunLoop, sockets: [String], onChange: @escaping () -> Void) throws(RunLoopError) {
        self.runLoop = runLoop
        self.sockets = sockets
        self.onChange = onChange
        inotify = ringwake_inotify()
        guard inotify >= 0 else { throw RunLoopError(operation: "inotify_init1", errno: errno) }
        try follow()
        source = try runLoop.watch(inotify, for: .read, cause: .audioServer) { [weak self] _ in self?.eventsArrived() }
    }

    deinit {
        close()
        if inotify >= 0 { Glibc.close(inotify) }
    }

    /// Nothing is reported after this. Idempotent.
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
        for watch in awaited.keys where wanted[watch] == nil { inotify_rm_watch(inotify, watch) }
        awaited = wanted
    }

    private func follow(_ socket: String) throws(RunLoopError) -> (watch: Int32, name: String) {
        var path = socket
        while true {
            let directory = PulseAddress.directory(of: path)
            let name = String(path.dropFirst(directory == "/" ? 1 : directory.utf8.count + 1))
            // ATTRIB: a directory that can be searched now, a socket that can be connected to now.
            let events = IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | Int32(IN_ONLYDIR)
            let watch = inotify_add_watch(inotify, directory, UInt32(bitPattern: events))
            if watch >= 0 { return (watch, name) }
            guard [ENOENT, ENOTDIR, EACCES].contains(errno), directory != "/" else {
                throw RunLoopError(operation: "inotify_add_watch(\(directory))", errno: errno)
            }
            path = directory
        }
    }

    private func eventsArrived() {
        guard takeEvents() else { return }
        do throws(RunLoopError) {
            // A directory on the path may exist now. The owner looks for what it holds already.
            try follow()
        } catch {
            // Reported all the same: the owner then makes a new watch, and gets the reason of its failure.
            isBroken = true
        }
        onChange()
    }

    /// - Returns: Whether one of them was about an awaited name.
    private func takeEvents() -> Bool {
        var isAbout = false
        withUnsafeTemporaryAllocation(byteCount: Self.eventBufferBytes, alignment: 8) { buffer in
            let count = read(inotify, buffer.baseAddress, buffer.count)
            let header = MemoryLayout<inotify_event>.size
            var position = 0
            while position + header <= count {
                let event = buffer.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
                let bytes = buffer[(position + header)..<min(count, position + header + Int(event.len))]
                let name = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                if name.isEmpty || awaited[event.wd]?.contains(name) == true { isAbout = true }
                position += header + Int(event.len)
            }
        }
        return isAbout
    }
}

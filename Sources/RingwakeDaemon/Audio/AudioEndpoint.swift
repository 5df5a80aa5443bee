internal import CRingwakeLinux
internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// How `ringwake-audio` is reached: it is started as a child, or listens as a unit of the user.
struct AudioEndpoint {
    /// A stream socket that does not block.
    let descriptor: Int32
    /// The child; nil for one that listens.
    let pid: Int32?

    /// - Throws: it cannot be started or reached: why, and what to do.
    init(_ way: AudioEngineWay) throws(RingwakeError) {
        switch way {
        case .program(let path, let journal):
            (descriptor, pid) = try AudioEndpoint.start(path, journal: journal)
        case .socket(let path):
            (descriptor, pid) = (try AudioEndpoint.connect(to: path), nil)
        }
    }

    private static func start(_ path: String, journal: String) throws(RingwakeError) -> (Int32, Int32) {
        var pair: [Int32] = [-1, -1]
        guard ringwake_stream_socket_pair(&pair) == 0 else { throw noSocket() }
        defer { Glibc.close(pair[1]) }
        do throws(RunLoopError) {
            // The server is found by what the environment says: its socket, its cookie, the session bus.
            let pid = try RunLoop.start(
                [path, "--journal", journal], variables: processEnvironment().map { "\($0.key)=\($0.value)" },
                input: pair[1], output: STDERR_FILENO)
            return (pair[0], pid)
        } catch {
            Glibc.close(pair[0])
            throw RingwakeError(
                .system,
                "\(path) cannot be started: \(error); install it, name it in [audio] program, or write "
                    + "backend = \"none\" there")
        }
    }

    private static func connect(to path: String) throws(RingwakeError) -> Int32 {
        var address = sockaddr_storage()
        let length = path.utf8.contains(0) ? 0 : ringwake_unix_address(path, &address)
        guard length > 0 else {
            throw RingwakeError(
                .badConfiguration, "[audio] socket: '\(path)' is no path of at most 107 bytes, as sockets have")
        }
        let descriptor = ringwake_stream_socket(AF_UNIX)
        guard descriptor >= 0 else { throw noSocket() }
        do throws(RingwakeError) {
            try connect(descriptor, &address, length, path)
            return descriptor
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    private static func connect(
        _ descriptor: Int32, _ address: inout sockaddr_storage, _ length: socklen_t, _ path: String
    ) throws(RingwakeError) {
        var result: Int32
        repeat { result = ringwake_connect(descriptor, &address, length) } while result != 0 && errno == EINTR
        guard result == 0 else {
            let (number, reason) = (errno, String(cString: strerror(errno)))
            guard number != EAGAIN else {
                throw RingwakeError(.limitReached, "too many wait to connect to \(path) ([audio] socket)")
            }
            throw RingwakeError(
                .unreachable,
                "nobody listens on \(path) ([audio] socket): \(reason); its user enables it with "
                    + "'systemctl --user enable --now ringwake-audio.socket'")
        }
        var (pid, user, group): (pid_t, uid_t, gid_t) = (0, 0, 0)
        guard ringwake_peer_credentials(descriptor, &pid, &user, &group) == 0, isTrusted(user, at: path) else {
            throw RingwakeError(
                .notPermitted,
                "\(path) ([audio] socket) belongs to a user who is neither root, nor the daemon's own, nor the one that it is "
                    + "called after (UID.sock), and would be told of calls; remove it")
        }
    }

    /// The folder of these sockets is open to all users: whoever comes first could take another's name there.
    static func isTrusted(_ user: UInt32, at path: String, own: UInt32 = geteuid()) -> Bool {
        user == 0 || user == own || path.hasSuffix("/\(user).sock")
    }

    private static func noSocket() -> RingwakeError {
        RingwakeError(.system, "no socket for ringwake-audio: \(String(cString: strerror(errno)))")
    }
}

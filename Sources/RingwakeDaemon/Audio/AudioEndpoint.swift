internal import DaemonConfiguration
internal import CRingwakeLinux
internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// A connection to `ringwake-audio`, which runs as a child or listens as a user unit.
struct AudioEndpoint {
    /// A non-blocking stream socket.
    let descriptor: Int32
    /// PID of the child; nil if the program is a user unit.
    let pid: Int32?

    /// - Throws: why the program can't be started or reached, and what to do.
    init(_ way: AudioEngineWay, runLoop: RunLoop) throws(RingwakeError) {
        switch way {
        case .program(let path, let journal):
            (descriptor, pid) = try AudioEndpoint.start(path, journal: journal, runLoop)
        case .socket(let path):
            (descriptor, pid) = (try AudioEndpoint.connect(to: path), nil)
        }
    }

    private static func start(
        _ path: String, journal: String, _ runLoop: RunLoop
    ) throws(RingwakeError) -> (Int32, Int32) {
        var pair: [Int32] = [-1, -1]
        guard ringwake_stream_socket_pair(&pair) == 0 else { throw noSocket(String(cString: strerror(errno))) }
        defer { Glibc.close(pair[1]) }
        do throws(RunLoopError) {
            // libpulse finds the server by these variables: its socket, its cookie, the session bus.
            let pid = try runLoop.start(
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
        let descriptor: Int32
        do throws(RunLoopError) {
            descriptor = try UnixSocket.connect(to: path)
        } catch {
            throw failure(error, path)
        }
        guard let user = UnixSocket.peerUser(of: descriptor), isTrusted(user, at: path) else {
            Glibc.close(descriptor)
            throw RingwakeError(
                .notPermitted,
                "\(path) ([audio] socket) belongs to a user who is neither root, nor the daemon's own, nor the one that it is "
                    + "called after (UID.sock), and would be told of calls; remove it")
        }
        return descriptor
    }

    private static func failure(_ error: RunLoopError, _ path: String) -> RingwakeError {
        switch error.errno {
        case _ where error.operation == "socket": noSocket(error.reason)
        case ENAMETOOLONG:
            RingwakeError(
                .badConfiguration, "[audio] socket: '\(path)' is no path of at most 107 bytes, as sockets have")
        case EAGAIN: RingwakeError(.limitReached, "too many wait to connect to \(path) ([audio] socket)")
        case EACCES: RingwakeError(.notPermitted, "\(path) ([audio] socket): \(refused)")
        default:
            RingwakeError(
                .unreachable,
                "nobody listens on \(path) ([audio] socket): \(error.reason); its user enables it with "
                    + "'systemctl --user enable --now ringwake-audio.socket'")
        }
    }

    /// Why the daemon may not connect, and what to do: the folder was made by an earlier version, or by hand.
    static let refused =
        "its mode does not let the daemon's user connect; run 'systemd-tmpfiles --create ringwake.conf' as root, then "
        + "'systemctl --user restart ringwake-audio.socket' as its user"

    /// Whether the socket's owner may receive call data. All users can write to the folder of these sockets, so a user
    /// could create a socket under another user's name.
    static func isTrusted(_ user: UInt32, at path: String, own: UInt32 = geteuid()) -> Bool {
        user == 0 || user == own || path.hasSuffix("/\(user).sock")
    }

    private static func noSocket(_ why: String) -> RingwakeError {
        RingwakeError(.system, "no socket for ringwake-audio: \(why)")
    }
}

internal import CRingwakeLinux
internal import Glibc
internal import RingwakeCore

/// Checks and errors of the socket on which a handler listens.
enum SocketCheck {
    /// Checks what is known without connecting. The socket may be missing, because the program that creates it may not
    /// run yet.
    /// - Throws: ``RingwakeError/Code/badConfiguration``.
    static func check(_ path: String, of app: AppID) throws(RingwakeError) {
        var address = sockaddr_storage()
        guard path.hasPrefix("/"), !path.utf8.contains(0), ringwake_unix_address(path, &address) > 0 else {
            throw badPath(path, of: app)
        }
        var status = stat()
        guard stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFSOCK else {
            throw problem("\(LogText.harmless(path)) is no socket; name the one that the handler listens on", of: app)
        }
    }

    static func badPath(_ path: String, of app: AppID) -> RingwakeError {
        problem(
            "'\(LogText.harmless(path))' is no absolute path of at most 107 bytes, which the kernel allows for a"
                + " socket; write another, /run/user/UID/… say", of: app)
    }

    /// The error for an `errno` from connect(2) or send(2), with what to do.
    static func failure(_ errno: Int32, path: String, of app: AppID) -> RingwakeError {
        let name = LogText.harmless(path)
        let what = "the handler of \(app) was not woken (wake.socket in apps.d/\(app).toml):"
        switch errno {
        case ENOENT, ENOTDIR:
            return problem(
                "there is no socket \(name); start the handler that makes it, or the .socket unit, or correct the path",
                of: app)
        case ECONNREFUSED, EPIPE, ECONNRESET:
            return RingwakeError(
                .unreachable,
                "\(what) nobody listens on \(name), which its handler left behind; start the handler or its .socket"
                    + " unit")
        case EAGAIN:
            return RingwakeError(
                .limitReached,
                "\(what) the queue of \(name) is full, for its handler accepts no connection; restart the handler, or"
                    + " let it accept and listen with a longer queue")
        case ENAMETOOLONG: return badPath(path, of: app)
        case EACCES, EPERM:
            return RingwakeError(
                .notPermitted,
                "\(what) the daemon may not connect to \(name); let its user write to the socket and search every"
                    + " directory of the path")
        case EPROTOTYPE:
            return problem(
                "\(name) is no stream socket; let the handler listen with SOCK_STREAM (ListenStream= of a .socket"
                    + " unit)", of: app)
        default:
            return RingwakeError(
                .system,
                "\(what) \(name): \(String(cString: strerror(errno))); free what is short (descriptors, memory) or"
                    + " correct the path")
        }
    }

    static func stranger(_ user: UInt32?, path: String, of app: AppID) -> RingwakeError {
        RingwakeError(
            .notPermitted,
            "the handler of \(app) was not woken (wake.socket in apps.d/\(app).toml): \(LogText.harmless(path)) belongs"
                + " to \(user.map { "user \($0)" } ?? "an unknown user"), who is neither root nor the daemon's user, and would be told the caller and the"
                + " secret of the wake; let the handler run as the daemon's user")
    }

    private static func problem(_ why: String, of app: AppID) -> RingwakeError {
        RingwakeError(
            .badConfiguration, "the handler of \(app) cannot be woken (wake.socket in apps.d/\(app).toml): \(why)")
    }
}

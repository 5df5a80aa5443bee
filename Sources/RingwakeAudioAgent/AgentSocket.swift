internal import CRingwakeLinux
internal import Glibc
internal import RingwakeCore
internal import RunLoop
internal import ServiceManager

/// Why the program does not start.
struct AgentRefusal: Error {
    /// Its exit status.
    let status: Int32
    let message: String

    init(_ status: Int32, _ message: String) {
        self.status = status
        self.message = message
    }
}

/// The sockets that the program is started with.
enum AgentSocket {
    /// Prepares the daemon's socket.
    /// - Throws: It is not open, or not a connected stream socket.
    static func checkConnected(_ descriptor: Int32) throws(AgentRefusal) {
        guard isStream(descriptor), option(SO_ACCEPTCONN, of: descriptor) == 0 else {
            throw AgentRefusal(
                2,
                "descriptor \(descriptor) is no connected socket: ringwaked starts this program, with one; "
                    + "to put back what an earlier one left, use --mend")
        }
        try prepare(descriptor)
    }

    /// The listening socket that systemd passed.
    /// - Throws: There is none, or more than one, or it is not a listening unix socket.
    static func passedListener() throws(AgentRefusal) -> Int32 {
        let passed: [PassedSocket]
        do throws(RingwakeError) {
            passed = try PassedSocket.takeAll()
        } catch {
            throw AgentRefusal(2, error.message)
        }
        guard let socket = passed.first, passed.count == 1 else {
            throw AgentRefusal(
                2, "--listen is for socket activation with one socket: enable ringwake-audio.socket, do not start this")
        }
        guard socket.isUnixListener() else {
            throw AgentRefusal(2, "the socket that was passed is no listening unix stream socket; correct the unit")
        }
        try prepare(socket.descriptor)
        return socket.descriptor
    }

    /// The users that may connect: root, the program's own, and these, by name or number.
    /// - Throws: There is no such user.
    static func users(_ names: [String]) throws(AgentRefusal) -> Set<UInt32> {
        var users: Set<UInt32> = [0, geteuid()]
        for name in names {
            if let number = UInt32(name) {
                users.insert(number)
            } else if let entry = getpwnam(name) {
                users.insert(entry.pointee.pw_uid)
            } else {
                throw AgentRefusal(1, "--allow \(name): there is no such user; name one, or its number")
            }
        }
        return users
    }

    /// Sends one line on a socket that has no connection object.
    static func send(_ line: [UInt8], _ descriptor: Int32) {
        _ = line.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    private static func prepare(_ descriptor: Int32) throws(AgentRefusal) {
        guard ringwake_set_nonblocking(descriptor) == 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            throw AgentRefusal(1, "descriptor \(descriptor) cannot be used: \(String(cString: strerror(errno)))")
        }
    }

    private static func isStream(_ descriptor: Int32) -> Bool {
        option(SO_TYPE, of: descriptor) == Int32(SOCK_STREAM.rawValue)
    }

    /// - Returns: nil if it isn't a socket.
    private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }
}

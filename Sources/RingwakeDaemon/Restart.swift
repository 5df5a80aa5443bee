internal import Glibc
internal import RingwakeCore

/// How the daemon starts again after it has stopped.
enum Restart {
    /// Tells a service manager that this is no failure, and that it is to start the daemon again (sysexits.h: EX_TEMPFAIL).
    private static let status: Int32 = 75

    /// Executes this program again, as the same process. Sockets that systemd has opened were closed with the daemon and
    /// only systemd can pass them again, so then the process exits, and systemd starts it.
    ///
    /// - Returns: why it can't be done.
    static func run(passed: PassedSockets) -> RingwakeError {
        guard passed.isEmpty else { exit(status) }
        var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) }
        arguments.append(nil)
        // By its own path the process keeps its name. The file may have been replaced meanwhile.
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        if readlink("/proc/self/exe", &path, path.count - 1) > 0 { execv(path, arguments) }
        execv("/proc/self/exe", arguments)
        return RingwakeError(.system, "ringwaked cannot start again: \(String(cString: strerror(errno))); start it")
    }
}

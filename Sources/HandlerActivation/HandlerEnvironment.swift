internal import Glibc

/// The part of a handler's environment that is the same for every call, as C strings that are made once.
nonisolated final class HandlerEnvironment {
    /// What belongs to the daemon's own service manager: a handler that found it would take the daemon's sockets for
    /// its own, or report the daemon ready, alive or stopping.
    private static let daemonsOwn: Set<String> = ["NOTIFY_SOCKET", "MAINPID", "INVOCATION_ID", "JOURNAL_STREAM"]
    private static let daemonsOwnPrefixes = ["LISTEN_", "WATCHDOG_"]
    /// What every call sets anew.
    static let socket = "RINGWAKE_SOCKET"
    static let app = "RINGWAKE_APP"
    static let call = "RINGWAKE_CALL"
    static let secret = "RINGWAKE_WAKE_SECRET"

    /// `NAME=value`, each ending in NUL.
    let pointers: [UnsafeMutablePointer<CChar>?]

    init(base: [String: String], socketPath: String) {
        var entries = base.filter { Self.isPassedOn($0.key, $0.value) }.map { "\($0.key)=\($0.value)" }
        entries.append("\(Self.socket)=\(socketPath)")
        pointers = entries.sorted().map { (entry: String) in strdup(entry) }
    }

    deinit {
        for pointer in pointers { free(pointer) }
    }

    private static func isPassedOn(_ name: String, _ value: String) -> Bool {
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "=")) else { return false }
        guard !name.utf8.contains(0), !value.utf8.contains(0) else { return false }
        if [socket, app, call, secret].contains(name) || daemonsOwn.contains(name) { return false }
        return !daemonsOwnPrefixes.contains { name.hasPrefix($0) }
    }
}

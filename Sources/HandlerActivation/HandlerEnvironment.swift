internal import Glibc
internal import RunLoop

/// The part of a handler's environment that is the same for every call, as C strings that are created once.
nonisolated final class HandlerEnvironment {
    /// Variables that every handler gets; inherited ones are removed.
    static let socket = "RINGWAKE_SOCKET"
    static let app = "RINGWAKE_APP"
    static let call = "RINGWAKE_CALL"
    static let secret = "RINGWAKE_WAKE_SECRET"

    /// `NAME=value`, NUL-terminated.
    let pointers: [UnsafeMutablePointer<CChar>?]

    init(base: [String: String], socketPath: String) {
        let own = [Self.socket, Self.app, Self.call, Self.secret]
        var entries = inheritable(base).filter { !own.contains($0.key) }.map { "\($0.key)=\($0.value)" }
        entries.append("\(Self.socket)=\(socketPath)")
        pointers = entries.sorted().map { (entry: String) in strdup(entry) }
    }

    deinit {
        for pointer in pointers { free(pointer) }
    }
}

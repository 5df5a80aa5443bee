import Glibc
import Testing

/// Runs something with the rights of a user who is not root, on the present thread only.
nonisolated enum OrdinaryUser {
    private static let nobody: UInt32 = 65_534

    /// Gives a folder to that user.
    static func own(_ path: String) {
        if geteuid() == 0 { chown(path, nobody, nobody) }
    }

    static func run<Value>(_ body: () throws -> Value) throws -> Value {
        guard geteuid() == 0 else { return try body() }
        // Not in Swift's Glibc. It is of one thread, unlike seteuid, and root's rights to files go with it.
        typealias SetUser = @convention(c) (UInt32) -> Int32
        let setUser = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: SetUser.self)
        _ = setUser(nobody)
        defer { _ = setUser(0) }
        return try body()
    }
}

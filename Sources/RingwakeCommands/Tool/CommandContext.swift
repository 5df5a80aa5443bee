import Glibc

/// The part of the process that a command uses. Tests provide their own.
struct CommandContext {
    /// Standard output: results.
    let output: Output
    /// Standard error: messages.
    let errors: Output
    /// The value of an environment variable; nil when it is unset or empty.
    let environment: (String) -> String?
    /// The effective user.
    let userID: UInt32
    /// The style of output for people.
    let style: TextStyle
    /// Whether a user is at a terminal, and can be asked.
    let canAsk: Bool

    init(
        output: Output = Output(descriptor: STDOUT_FILENO), errors: Output = Output(descriptor: STDERR_FILENO),
        environment: @escaping (String) -> String?, userID: UInt32
    ) {
        self.output = output
        self.errors = errors
        self.environment = environment
        self.userID = userID
        let isPlain = environment("NO_COLOR") != nil || environment("TERM") == "dumb"
        style = TextStyle(
            isEnabled: output.isTerminal && !isPlain,
            times: output.isTerminal ? .local(now: WallClock.seconds()) : .utc)
        canAsk = errors.isTerminal && isatty(STDIN_FILENO) == 1
    }
}

/// The environment of the process.
enum ProcessEnvironment {
    /// The value of the variable `name`; nil when it is unset or empty.
    static func variable(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }
}

/// Seconds since 1970, by the wall clock: for `apns-expiration` and provider tokens.
enum WallClock {
    static func seconds() -> Int64 { Int64(time(nil)) }
}

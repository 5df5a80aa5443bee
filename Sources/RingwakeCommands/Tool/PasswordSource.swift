import Glibc
import RingwakeCore

/// Where a password comes from: a file, the environment, or the user at a terminal. Never an argument, which other users
/// see in the list of processes.
enum PasswordSource {
    /// The environment variable that may hold a password.
    static let variable = "RINGWAKE_PASSWORD"
    /// How often the user may try.
    private static let maximumTries = 3
    /// Maximum bytes of a typed password.
    private static let maximumBytes = 1024

    /// The first line of `file`, else the environment's password; nil if there is neither. `-` is standard input; at a
    /// terminal, the user is asked.
    ///
    /// - Parameters:
    ///   - what: what the password is for.
    ///   - isNew: at a terminal it is asked for twice, because a typing error would be found too late.
    static func password(
        file: String?, for what: String, isNew: Bool = false, in context: CommandContext
    ) throws(RingwakeError) -> String? {
        guard let file else { return context.environment(variable) }
        if file == "-", context.canAsk {
            let password = try ask(for: what, in: context)
            guard isNew else { return password }
            guard try ask(for: "\(what), once more", in: context) == password else {
                throw RingwakeError(.invalidRequest, "the two are not the same; run it again")
            }
            return password
        }
        let bytes = try InputFile.read(file, allowsStandardInput: true)
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        return String(decoding: line, as: UTF8.self)
    }

    /// Reads something with the password. If there is none, one is needed, and a user is there, asks the user.
    static func use<Result>(
        file: String?, for what: String, in context: CommandContext,
        _ read: (String?) throws(RingwakeError) -> Result
    ) throws(RingwakeError) -> Result {
        let password = try password(file: file, for: what, in: context)
        var tries = password == nil && context.canAsk ? maximumTries : 0
        var next = password
        while true {
            do throws(RingwakeError) {
                return try read(next)
            } catch {
                guard error.code == .notPermitted, tries > 0 else { throw error }
                tries -= 1
            }
            next = try ask(for: what, in: context)
        }
    }

    /// Asks on the terminal. What the user types isn't shown.
    private static func ask(for what: String, in context: CommandContext) throws(RingwakeError) -> String {
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else {
            throw RingwakeError(.system, "the terminal does not answer: \(String(cString: strerror(errno)))")
        }
        var silent = before
        // Without signals, so that Ctrl-C can't leave the terminal without its echo.
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        // Before the prompt, which says that what is typed is the password.
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) == 0 else {
            throw RingwakeError(
                .system,
                "the terminal would show the password: \(String(cString: strerror(errno))); use a password file")
        }
        context.errors.write("Password of \(TerminalText.printable(what)): ")
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
            context.errors.write("\n")
        }
        var bytes: [UInt8] = []
        while bytes.count < maximumBytes {
            var byte: UInt8 = 0
            let count = Glibc.read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            // Ctrl-C, Ctrl-D, or a terminal that is gone.
            guard count == 1, byte != 3, byte != 4 else {
                throw RingwakeError(
                    .failed, "no password was given; run it again, or give one with \(variable) or a password file")
            }
            switch byte {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return String(decoding: bytes, as: UTF8.self)
            case 8, 127: if !bytes.isEmpty { bytes.removeLast() }
            case 21: bytes.removeAll()
            default: bytes.append(byte)
            }
        }
        throw RingwakeError(.limitReached, "the password has more than \(maximumBytes) bytes; use a password file")
    }
}

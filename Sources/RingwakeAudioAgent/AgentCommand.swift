internal import ControlProtocol

/// The command line of `ringwake-audio`.
struct AgentCommand: Equatable {
    /// Where requests come from.
    enum Source: Equatable {
        /// This descriptor, a socket.
        case descriptor(Int32)
        /// The listening socket that systemd passes (sd_listen_fds(3)).
        case listener
        /// Nowhere: only undo what the journals hold.
        case journals
    }

    var source = Source.descriptor(0)
    /// The effect journal; nil for the standard one.
    var journal: String?
    /// For a listener: users that may connect besides root and the program's own, by name or number.
    var allowed: [String] = []
    var isVerbose = false

    static let help = """
        ringwake-audio holds the connection to the audio server of one user for ringwaked, and puts back what it changed.
        ringwaked starts it when a call is reported, with a socket as its standard input.

        EXAMPLES
          ringwake-audio --mend                    put back what an earlier one left behind
          systemctl --user enable --now ringwake-audio.socket
                                                   let the machine's ringwaked use this user's audio server

        OPTIONS
          --fd N           the socket with the requests; default 0
          --listen         serve the listening socket that systemd passes, one client after the other
          --allow USER     with --listen: this user may connect too, besides root and the program's own
          --mend           undo what the journals hold, and exit: 0 when nothing is left, 1 otherwise
          --journal FILE   where it is written down what was changed; default
                           $XDG_STATE_HOME/ringwake/audio-effects.json
          --verbose        log more
          --version        show the version
          --help           show this

        It logs to standard error. When the socket closes, or at SIGTERM, it undoes everything and exits.
        Exit status: 0 done, 1 failed, 2 wrong usage.

        """

    /// What the arguments ask for.
    enum Parsed: Equatable {
        case run(AgentCommand)
        /// Print this text and exit 0.
        case show(String)
        /// Print this text to standard error and exit 2.
        case wrongUsage(String)
    }

    static func parse(_ arguments: [String]) -> Parsed {
        var command = AgentCommand()
        var sources: [Source] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": return .show(help)
            case "--version": return .show(ProductVersion.current + "\n")
            case "--listen": sources.append(.listener)
            case "--mend": sources.append(.journals)
            case "--verbose": command.isVerbose = true
            case "--fd", "--journal", "--allow":
                guard let value = rest.popFirst() else { return .wrongUsage("\(argument) needs a value") }
                if let problem = command.take(argument, value, &sources) { return .wrongUsage(problem) }
            case _ where ["--fd=", "--journal=", "--allow="].contains(where: argument.hasPrefix):
                let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if let problem = command.take(String(parts[0]), String(parts[1]), &sources) {
                    return .wrongUsage(problem)
                }
            default:
                return .wrongUsage("'\(argument)' is not an option; 'ringwake-audio --help' lists them")
            }
        }
        guard sources.count < 2 else { return .wrongUsage("only one of --fd, --listen and --mend can be given") }
        command.source = sources.first ?? command.source
        guard command.allowed.isEmpty || command.source == .listener else {
            return .wrongUsage("--allow goes with --listen")
        }
        return .run(command)
    }

    /// - Returns: What is wrong with the value.
    private mutating func take(_ option: String, _ value: String, _ sources: inout [Source]) -> String? {
        if option == "--journal" {
            guard !value.isEmpty else { return "--journal needs a file" }
            journal = value
            return nil
        }
        if option == "--allow" {
            guard !value.isEmpty else { return "--allow needs a user" }
            allowed.append(value)
            return nil
        }
        guard let number = Int32(value), number >= 0, value.first != "+" else {
            return "--fd needs the number of an open socket, not '\(value)'"
        }
        sources.append(.descriptor(number))
        return nil
    }
}

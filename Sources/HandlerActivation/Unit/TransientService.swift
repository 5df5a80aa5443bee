internal import DBus
internal import RingwakeCore

/// A service that exists for one wake: what StartTransientUnit is given (org.freedesktop.systemd1(5); the properties are
/// the settings of systemd.service(5) and systemd.exec(5)).
struct TransientService {
    let command: [String]
    let request: WakeRequest
    let socketPath: String
    /// Whom it runs as; nil: as the manager does.
    let runsAs: (user: UInt32, group: UInt32)?

    /// The system's manager runs services as root if nobody says otherwise: never with more rights than the daemon.
    /// - Parameters: The daemon's own user and group.
    static func runsAs(
        _ manager: SystemdManager, user: UInt32, group: UInt32
    ) -> (user: UInt32, group: UInt32)? {
        manager == .system && user != 0 ? (user, group) : nil
    }

    /// What its processes get between SIGTERM and SIGKILL when the manager stops it for reasons of its own, at the end
    /// of a session say.
    private static let stopTimeoutMicroseconds: UInt64 = 10_000_000

    /// `a(sv)`.
    /// - Parameter input: The request as a file, for the standard input; systemd keeps a copy (version 236 and later).
    func properties(input: Int32) -> DBusValue {
        var all: [(String, DBusValue)] = [
            ("Description", .string("Call handler of \(request.app)")),
            // The start has failed when the program cannot be executed, and not before it has been tried.
            ("Type", .string("exec")),
            ("ExecStart", .array("(sasb)", [execution])),
            ("Environment", .strings(environment)),
            ("StandardInputFileDescriptor", .unixFD(DBusFileDescriptor(borrowing: input))),
            ("StandardOutput", .string("journal")),
            ("StandardError", .string("journal")),
            // Nobody resets a failed unit whose name does not come again.
            ("CollectMode", .string("inactive-or-failed")),
            ("KillMode", .string("control-group")),
            ("TimeoutStopUSec", .uint64(Self.stopTimeoutMicroseconds)),
        ]
        if let runsAs {
            all.append(("User", .string("\(runsAs.user)")))
            all.append(("Group", .string("\(runsAs.group)")))
        }
        return .array("(sv)", all.map { .structure([.string($0.0), .variant($0.1)]) })
    }

    private var execution: DBusValue {
        // systemd puts variables in for `$NAME`; `$$` is a `$`.
        let arguments = command.map {
            $0.split(separator: "$", omittingEmptySubsequences: false).joined(separator: "$$")
        }
        return .structure([.string(command[0]), .strings(arguments), .bool(false)])
    }

    /// Everybody may read a unit's settings: no secret is among them. systemd refuses control characters in a value; a
    /// call whose id holds one is named on the standard input only.
    private var environment: [String] {
        var variables = [
            "\(HandlerEnvironment.socket)=\(socketPath)", "\(HandlerEnvironment.app)=\(request.app.rawValue)",
        ]
        let isPlain = request.call.rawValue.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        if isPlain { variables.append("\(HandlerEnvironment.call)=\(request.call.rawValue)") }
        return variables
    }
}

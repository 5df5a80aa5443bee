internal import DBus
internal import RingwakeCore

/// A service for one wake: the arguments of StartTransientUnit (org.freedesktop.systemd1(5); the properties are the
/// settings of systemd.service(5) and systemd.exec(5)).
struct TransientService {
    let command: [String]
    let request: WakeRequest
    let socketPath: String
    /// User and group of the service; nil for the manager's.
    let runsAs: (user: UInt32, group: UInt32)?

    /// By default the system manager runs services as root. A handler must not get more rights than the daemon.
    /// - Parameters: the daemon's own user and group.
    static func runsAs(
        _ manager: SystemdManager, user: UInt32, group: UInt32
    ) -> (user: UInt32, group: UInt32)? {
        manager == .system && user != 0 ? (user, group) : nil
    }

    /// Time between SIGTERM and SIGKILL when the manager itself stops the service, for example at the end of a session.
    private static let stopTimeoutMicroseconds: UInt64 = 10_000_000

    /// `a(sv)`.
    /// - Parameter input: the request as a file, for standard input; systemd keeps a copy (version 236 and later).
    func properties(input: Int32) -> DBusValue {
        var all: [(String, DBusValue)] = [
            ("Description", .string("Call handler of \(request.app)")),
            // systemd reports success only after it has executed the program, so a program that can't be executed is an
            // error.
            ("Type", .string("exec")),
            ("ExecStart", .array("(sasb)", [execution])),
            ("Environment", .strings(environment)),
            ("StandardInputFileDescriptor", .unixFD(DBusFileDescriptor(borrowing: input))),
            ("StandardOutput", .string("journal")),
            ("StandardError", .string("journal")),
            // The unit's name isn't used again, so nothing would reset it after a failure.
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
        // systemd replaces `$NAME` by the variable; `$$` stands for `$`.
        let arguments = command.map {
            $0.split(separator: "$", omittingEmptySubsequences: false).joined(separator: "$$")
        }
        return .structure([.string(command[0]), .strings(arguments), .bool(false)])
    }

    /// No secret: all users can read a unit's settings. systemd refuses control characters in a value, so an ID with
    /// control characters is only in standard input.
    private var environment: [String] {
        var variables = [
            "\(HandlerEnvironment.socket)=\(socketPath)", "\(HandlerEnvironment.app)=\(request.app.rawValue)",
        ]
        let isPlain = request.call.rawValue.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        if isPlain { variables.append("\(HandlerEnvironment.call)=\(request.call.rawValue)") }
        return variables
    }
}

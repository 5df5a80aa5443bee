import CRingwakeLinux
import ControlProtocol
import FileSystem
import Glibc
import RingwakeCore

/// A daemon in a temporary folder, for tests of senders. It ends with the process that started it.
struct EphemeralEndpoint {
    private static let prefix = "ringwake-endpoint-"
    /// A socket's path has at most 107 bytes, so a long $TMPDIR is not used.
    private static let maximumParentBytes = 60
    /// How long the daemon may take until it answers.
    private static let startTimeout = Duration.seconds(15)
    /// How long it may take to stop.
    private static let stopMilliseconds: Int32 = 5_000
    /// Between two looks at whether it answers.
    private static let pollMilliseconds: Int32 = 20

    private let command: SetupCommand
    private let context: CommandContext

    init(_ command: SetupCommand, in context: CommandContext) {
        self.command = command
        self.context = context
    }

    /// Runs it until its parent, its input or a signal ends it.
    func run() throws(RingwakeError) -> ExitStatus {
        let lifeline = try Lifeline()
        let parent = parentDirectory
        let folder = try ScratchFolder(in: parent, prefix: EphemeralEndpoint.prefix)
        do throws(RingwakeError) {
            let status = try run(in: folder.path, until: lifeline)
            try folder.remove()
            return status
        } catch {
            try folder.remove()
            throw error
        }
    }

    private func run(in folder: String, until lifeline: Lifeline) throws(RingwakeError) -> ExitStatus {
        let program = try DaemonProgram()
        let (app, team) = try command.subjects(in: nil)
        let handler = command.exec == nil ? try writeHandler(folder) : nil
        let words = (command.exec.map { [$0] } ?? ["/bin/sh", handler ?? ""]).map(AppFile.tomlString)
        var setup = try Setup(
            folder: SetupFolder(folder, isStandard: false), app: app, team: team,
            appLines: (["exec = [\(words.joined(separator: ", "))]", "way = \"exec\"", "instances = \"call\""], []),
            program: program)
        (setup.hosts, setup.payload) = (command.host, command.payload)
        setup.standardHosts = command.listen.isEmpty ? [] : LocalNames().all
        setup.listen = command.listen.isEmpty ? ["127.0.0.1:0"] : command.listen.map(\.description)
        setup.moreConfiguration = EphemeralEndpoint.configuration
        let (made, configuration) = try setup.run()

        let daemon = try Child(program, configuration: configuration.file, log: folder + "/log")
        defer { daemon.stop(within: EphemeralEndpoint.stopMilliseconds) }
        guard try isReady(configuration.controlSocket, daemon, lifeline) else { return .success }
        let report = SetupReport(
            app: app, made: made, configuration: configuration, hosts: command.host, names: LocalNames(),
            isStandard: false, isRoot: context.userID == 0)
        let message = try report.message(
            files: setup.files, notes: setup.notes,
            endpoint: .init(
                pid: daemon.process, controlSocket: configuration.controlSocket, directory: folder, log: daemon.log))
        if command.wantsJSON {
            context.output.write(bytes: controlLine(message))
        } else {
            context.output.write(SetupText.text(of: message, style: context.style))
        }
        guard try lifeline.wait(with: daemon.pidfd, milliseconds: -1) == .companion else { return .success }
        throw RingwakeError(.failed, "ringwaked ended by itself; its last lines: \(daemon.lastLines)")
    }

    /// Waits until the daemon answers. False if this program has to end before that.
    private func isReady(_ socket: String, _ daemon: Child, _ lifeline: Lifeline) throws(RingwakeError) -> Bool {
        let deadline = Deadline(after: EphemeralEndpoint.startTimeout)
        while true {
            switch try lifeline.wait(with: daemon.pidfd, milliseconds: EphemeralEndpoint.pollMilliseconds) {
            case .own: return false
            case .companion:
                throw RingwakeError(.failed, "ringwaked did not start; its last lines: \(daemon.lastLines)")
            case nil: break
            }
            do throws(RingwakeError) {
                let _: StatusMessage = try ControlClient(path: socket, secret: nil).get(RequestTarget("status"))
                return true
            } catch {
                // Whatever went wrong: one that ends in its start may have taken the request before. Then the next look
                // finds its end, and its last lines say why.
                guard !deadline.hasPassed else { throw error }
            }
        }
    }

    /// A developer's machine must neither ring nor stay awake, and its audio stays as it is.
    private static let configuration = [
        "", "[awake]", "by = \"none\"", "", "[cellular]", "watch = false", "", "[audio]", "backend = \"none\"", "",
        "[ring]", "notifications = false",
    ]

    /// The built-in handler: reports each call, and does what 'ringwake call' asks for. It ends with the folder: a handler
    /// outlives its daemon, and `ringwake watch` waits for another one. Its process group is its own.
    private func writeHandler(_ folder: String) throws(RingwakeError) -> String {
        let ringwake = "'" + (DaemonProgram.own ?? "ringwake").replacing("'", with: "'\\''") + "'"
        let script = """
            #!/bin/sh
            cat >/dev/null
            (while [ -e "$0" ]; do sleep 1; done; kill 0) &
            \(ringwake) call report --ring || exit
            \(ringwake) watch --call "$RINGWAKE_CALL" --json | while read -r event; do
                case $event in
                *'"action":"'*)
                    action=${event#*'"action":"'}
                    \(ringwake) call fulfill "${action%%'"'*}" ;;
                esac
            done

            """
        let path = folder + "/handler"
        try withFiles { () throws(FileSystemError) in
            try FileSystem.replace(path, with: Array(script.utf8), mode: 0o700)
        }
        return path
    }

    // MARK: - The folder

    private var parentDirectory: String {
        let wanted = context.environment("TMPDIR") ?? "/tmp"
        return wanted.hasPrefix("/") && wanted.utf8.count <= EphemeralEndpoint.maximumParentBytes ? wanted : "/tmp"
    }
}

/// The daemon of an endpoint. It also ends when this process is killed, because its standard input ends then.
private final class Child {
    let process: pid_t
    let pidfd: Int32
    let log: String
    private let input: Pipe
    /// Maximum bytes of the log in a message.
    private static let shownBytes = 2_000

    init(_ program: DaemonProgram, configuration: String, log: String) throws(RingwakeError) {
        self.log = log
        input = try Pipe()
        let output = ringwake_open(log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard output >= 0 else { throw RingwakeError(FileSystemError(operation: "open", path: log, errno: errno)) }
        defer { close(output) }
        process = try program.start(
            ["--stop-at-eof", "--config", configuration], input: input.reading, output: output, error: output)
        pidfd = ringwake_pidfd_open(process)
    }

    deinit {
        if pidfd >= 0 { close(pidfd) }
    }

    /// The end of its log, as one line.
    var lastLines: String {
        guard let bytes = try? FileSystem.read(log, maximumSize: 64 << 20) else { return "none" }
        return String(decoding: bytes.suffix(Child.shownBytes), as: UTF8.self)
            .split(separator: "\n").suffix(5).joined(separator: " | ")
    }

    func stop(within milliseconds: Int32) {
        kill(process, SIGTERM)
        var entry = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        if poll(&entry, 1, milliseconds) == 0 { kill(process, SIGKILL) }
        _ = DaemonProgram.reap(process)
    }
}

@testable import CallAudio
import Glibc
import RunLoop
import Testing

/// The servers that everything has to be right on.
enum AudioServerKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case pulseAudio
    case pipeWire

    var testDescription: String { rawValue }

    /// What of these programs is not installed.
    static let missing: [String] = [
        "pulseaudio", "pactl", "pacat", "pipewire", "wireplumber", "pipewire-pulse", "dbus-daemon", "python3",
    ].filter { access("/usr/bin/" + $0, X_OK) != 0 }
}

extension Trait where Self == ConditionTrait {
    /// Runs only where the audio servers are installed.
    static var withAudioServers: Self {
        .enabled(
            if: AudioServerKind.missing.isEmpty,
            "not installed: \(AudioServerKind.missing.joined(separator: ", "))")
    }
}

/// A real audio server of the test's own, in a folder of its own, with the null sinks `speakers` and `headset` and the
/// source `microphone`.
final class AudioServerUnderTest {
    let kind: AudioServerKind
    let runLoop: RunLoop
    let folder: String
    private(set) var server: TestProgram?
    /// PipeWire's bus, core and session keeper.
    private var others: [TestProgram] = []
    private var programs: [TestProgram] = []

    var socket: String { folder + "/run/pulse/native" }
    var address: PulseAddress { .server("unix:" + socket) }
    var environment: [String] {
        [
            "HOME=\(folder)/home", "XDG_RUNTIME_DIR=\(folder)/run", "XDG_STATE_HOME=\(folder)/home/state",
            "XDG_CONFIG_HOME=\(folder)/home/config", "DBUS_SESSION_BUS_ADDRESS=unix:path=\(folder)/bus",
        ]
    }

    /// - Parameter isStarted: False for one that is started later.
    init(_ kind: AudioServerKind, isStarted: Bool = true) throws {
        self.kind = kind
        runLoop = try RunLoop()
        var template = Array("/tmp/ringwake-audio-XXXXXX".utf8CString)
        folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        mkdir(folder + "/run", 0o700)
        mkdir(folder + "/home", 0o700)
        let stream = try #require(fopen(folder + "/streams.py", "w"))
        fputs(StreamsScript.text, stream)
        fclose(stream)
        if isStarted { try start() }
    }

    /// Returns when it answers and has its devices.
    func start() throws {
        switch kind {
        case .pulseAudio:
            server = try run(
                ["/usr/bin/pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--realtime=no"]
                    + ["--high-priority=no", "--use-pid-file=no", "--disable-shm=yes"]
                    + [
                        "module-native-protocol-unix", "module-stream-restore", "module-card-restore",
                        "module-default-device-restore",
                    ].flatMap { ["-L", $0] })
        case .pipeWire:
            // Those of a killed one would pass for the new ones.
            for socket in ["/bus", "/run/pipewire-0"] { unlink(folder + socket) }
            others.append(
                try run(
                    ["/usr/bin/dbus-daemon", "--session", "--address=unix:path=\(folder)/bus"]
                        + ["--nofork", "--nopidfile"]))
            try #require(runLoop.drive { access(folder + "/bus", F_OK) == 0 })
            others.append(try run(["/usr/bin/pipewire"]))
            try #require(runLoop.drive { access(folder + "/run/pipewire-0", F_OK) == 0 })
            others.append(try run(["/usr/bin/wireplumber"]))
            server = try run(["/usr/bin/pipewire-pulse"])
        }
        try #require(
            runLoop.drive {
                access(socket, F_OK) == 0 && (try? pactl("info")) != nil
            }, "\(server?.output ?? "")")
        try addDevices()
    }

    private func addDevices() throws {
        try pactl("load-module", "module-null-sink", "sink_name=speakers")
        try pactl("load-module", "module-null-sink", "sink_name=headset")
        try addMicrophone()
        // PipeWire's session keeper sees to them a little later.
        try #require(
            runLoop.drive {
                let sources = (try? pactl("list", "short", "sources")) ?? ""
                return sources.contains("\tmicrophone") && sources.contains("headset.monitor")
            })
        // Not supported until PipeWire's session keeper has its metadata.
        try #require(
            runLoop.drive {
                (try? pactl("set-default-sink", "speakers")) != nil
                    && (try? pactl("set-default-source", "microphone")) != nil
            })
        try #require(
            runLoop.drive {
                let info = (try? pactl("info")) ?? ""
                return info.contains("Default Sink: speakers") && info.contains("Default Source: microphone")
            })
    }

    func addMicrophone() throws {
        switch kind {
        case .pulseAudio: try pactl("load-module", "module-null-source", "source_name=microphone")
        case .pipeWire:
            try pactl(
                "load-module", "module-null-sink", "media.class=Audio/Source/Virtual", "sink_name=microphone")
        }
    }

    /// Kills the server, as by `kill -9`.
    func kill() {
        server?.stop()
        server = nil
        for program in others.reversed() { program.stop() }
        others = []
    }

    /// Ends all, and takes the folder away.
    func stop() {
        for program in programs { program.stop() }
        kill()
        // nftw is not imported with its flags; the folder is this test's own.
        _ = try? runToEnd(["/bin/rm", "-rf", folder])
    }

    // MARK: - Programs beside it

    /// A program in the server's environment, which is not stopped with it.
    func run(_ arguments: [String]) throws -> TestProgram {
        try TestProgram(arguments, environment: environment, runLoop)
    }

    /// What it wrote, when it is done.
    @discardableResult
    func runToEnd(_ arguments: [String]) throws -> String {
        let program = try run(arguments)
        _ = runLoop.drive(limit: .seconds(10)) { program.isAtEnd }
        program.stop()
        guard program.exit == .exited(0) else {
            throw ProgramFailure(description: "\(arguments): \(program.output)")
        }
        return program.output
    }

    /// What another program does, or sees.
    @discardableResult
    func pactl(_ arguments: String...) throws -> String {
        try runToEnd(["/usr/bin/pactl", "-s", "unix:" + socket] + arguments)
    }

    /// A program that plays silence with these properties, such as `media.role=music`.
    func play(_ properties: String..., to sink: String = "speakers") throws -> TestProgram {
        try keep(
            [
                "/usr/bin/pacat", "--playback", "--raw", "--device=" + sink, "/dev/zero",
            ] + properties.map { "--property=" + $0 })
    }

    /// A program that records.
    func record(_ properties: String..., from source: String = "microphone") throws -> TestProgram {
        // Its output is not wanted.
        try keep(
            [
                "/usr/bin/pacat", "--record", "--raw", "--device=" + source, "/dev/null",
            ] + properties.map { "--property=" + $0 })
    }

    /// A client with many streams; see ``StreamsScript``.
    func streams(_ arguments: String...) throws -> TestProgram {
        try keep(["/usr/bin/python3", folder + "/streams.py", "unix:" + socket] + arguments)
    }

    private func keep(_ arguments: [String]) throws -> TestProgram {
        let program = try run(arguments)
        programs.append(program)
        return program
    }

    struct ProgramFailure: Error, CustomStringConvertible {
        let description: String
    }
}

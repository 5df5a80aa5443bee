import CRingwakeLinux
import ControlProtocol
import FileSystem
import Glibc
import NetworkMessages
import RingwakeCore

/// What the checks look at: gathered first, so that a check is only a judgement.
struct DoctorFacts {
    /// Seconds since 1970.
    var now: Int64
    /// The user who asks.
    var userID: UInt32
    /// The configuration file.
    var file: String
    /// What the daemon reads in it; nil if it can't be read.
    var configuration: ConfigurationMessage?
    /// Why the daemon would not start with it.
    var configurationError: RingwakeError?
    /// The running daemon's.
    var status: StatusMessage?
    /// Why there is no status.
    var statusError: RingwakeError?
    /// Nil if this user may not see them.
    var apps: [AppMessage]?
    /// Nil if this user may not see why.
    var audio: AudioStatusMessage?
    /// The daemon's unit; nil without systemd.
    var unit: UnitLook?
    /// By the names of the handlers' units and bus names: whether systemd, or the bus, knows it; nil: it didn't answer.
    var knownHandlers: [String: Bool] = [:]
    var ports: [PortLook] = []
    var store: StoreLook?
    var isClockKept = true
    /// When this program was built, in seconds since 1970.
    var builtAt: Int64?
    /// Why the system bus can't be reached from here; nil if it can.
    var systemBusProblem: String?
    /// Whether something can keep the machine awake.
    var canStayAwake = true
    /// The audio server's socket, if the daemon's user has none.
    var missingAudioSocket: String?
    var facilities: [FacilityMessage] = []

    /// The user that the daemon runs as, as far as it is known.
    var daemonUser: UInt32? { configuration?.user }
    /// Whether it is the configuration of the system's service.
    var isSystem: Bool { file.hasPrefix("/etc/") }
    /// Nothing was gathered.
    init(now: Int64, userID: UInt32, file: String) {
        self.now = now
        self.userID = userID
        self.file = file
    }
}

extension DoctorFacts {
    /// Gathers everything.
    ///
    /// - Parameter configurationFile: nil for the running daemon's, else the standard one.
    init(configurationFile: String?, client: ControlClient, in context: CommandContext) {
        self.init(
            now: WallClock.seconds(), userID: context.userID,
            file: configurationFile.map { InputFile.absolute($0) } ?? DoctorFacts.standardFile(in: context))
        ask(client)
        if configurationFile == nil, let status { file = status.configuration }
        let tools = SystemTools(environment: context.environment, isSystem: isSystem)
        unit = tools.daemonUnit()
        readConfiguration()
        // A configuration that somebody named has a socket of its own.
        if configurationFile != nil, status == nil, let socket = configuration?.controlSocket, socket != client.path,
            FileSystem.exists(socket)
        {
            ask(ControlClient(path: socket, secret: client.secret))
        }
        lookAtHandlers(tools)
        ports = (status?.listeners ?? []).map { PortLook($0) }
        store = (status?.stateDirectory ?? configuration?.stateDirectory).map { StoreLook(directory: $0) }
        isClockKept = ringwake_clock_is_synchronized()
        builtAt = DaemonProgram.own.flatMap(FileLook.modifiedAt)
        systemBusProblem = SocketLook.systemBusProblem(environment: context.environment)
        canStayAwake =
            (systemBusProblem == nil && FileSystem.exists("/run/systemd/seats"))
            || FileLook.isWritable("/sys/power/wake_lock")
        let usesAudio = configuration?.dependencies.contains { $0.name == "audio.program" } == true
        if usesAudio, context.environment("PULSE_SERVER") == nil, let user = daemonUser {
            let socket = "/run/user/\(user)/pulse/native"
            missingAudioSocket = FileSystem.exists(socket) ? nil : socket
        }
        facilities = status?.facilities ?? FacilityMessage.probe()
    }

    /// The user's, if there is one, else the system's.
    private static func standardFile(in context: CommandContext) -> String {
        let (system, name) = ("/etc/ringwake", "/ringwaked.toml")
        let own = StandardDirectory.configuration(in: context)
        return (FileSystem.exists(own + name) || !FileSystem.exists(system) ? own : system) + name
    }

    private mutating func ask(_ client: ControlClient) {
        statusError = nil
        do throws(RingwakeError) {
            let status: StatusMessage = try client.get(RequestTarget("status"))
            self.status = status
        } catch {
            statusError = error
            return
        }
        // Other users get an error, and the checks do without.
        apps = try? (client.get(RequestTarget("apps")) as AppListMessage).apps
        audio = try? client.get(RequestTarget("audio"))
    }

    private mutating func readConfiguration() {
        // What this user may not read says nothing about a daemon of another.
        if userID != 0, let status, FileLook.owner("/proc/\(status.pid)") != userID {
            configurationError = RingwakeError(.notPermitted, "the daemon is another user's")
            return
        }
        do throws(RingwakeError) {
            let program = try DaemonProgram()
            (configuration, configurationError) = try program.inspect(file, user: checkedUser)
        } catch {
            configurationError = error
        }
    }

    /// Root reads what the daemon may not, so the check runs as the daemon's user; nil: as this one.
    private var checkedUser: String? {
        guard userID == 0 else { return nil }
        if let status { return FileLook.owner("/proc/\(status.pid)").map { "\($0)" } }
        return isSystem ? unit?.user : nil
    }

    private mutating func lookAtHandlers(_ tools: SystemTools) {
        for handler in configuration?.handlers ?? [] {
            switch handler.way {
            case "unit":
                knownHandlers[HandlerCheck.polkit] = tools.isKnown(name: HandlerCheck.polkit, bus: "system")
                knownHandlers[handler.target] = tools.isKnown(unit: handler.target, manager: handler.manager)
            case "dbus": knownHandlers[handler.target] = tools.isKnown(name: handler.target, bus: handler.bus)
            default: break
            }
        }
    }
}

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
    /// What the daemon tells a user without rights.
    var publicStatus: PublicStatusMessage?
    /// Nil if this user may not see them.
    var apps: [AppMessage]?
    /// Nil if this user may not see why.
    var audio: AudioStatusMessage?
    /// Nil if this user may not see it.
    var protection: ProtectionMessage?
    /// Of the file with the key of protected data: whether others may read it; nil: there is none, or it can't be seen.
    var isKeyFileOpen: Bool?
    /// The daemon's unit; nil without systemd.
    var unit: UnitLook?
    /// By name; systemd didn't answer for those that are missing.
    var handlerUnits: [String: HandlerUnitLook] = [:]
    /// By the bus names of handlers: whether the bus knows it; nil: it didn't answer.
    var knownNames: [String: Bool] = [:]
    var ports: [PortLook] = []
    /// Addresses of the configuration that another process holds, while no daemon answers.
    var takenPorts: [String] = []
    var store: StoreLook?
    /// Nil if this user may not look into their folder.
    var backups: BackupsLook?
    /// Nil without systemd, or if its units are not installed.
    var backupSchedule: BackupScheduleLook?
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

    /// `both`, `device` or `gateway`, as far as it is known.
    var role: String? { status?.role ?? configuration?.role }
    /// The user that the daemon runs as, as far as it is known.
    var daemonUser: UInt32? { configuration?.user }
    /// The files of apps and teams that are wrong. A running daemon may still use what a file said before.
    var wrongFiles: [SetAsideMessage] {
        let loaded = status?.setAside ?? []
        return SetAsideText.merged(configuration?.setAside ?? [], status).map { found in
            guard let apps, !loaded.contains(found) else { return found }
            // The daemon has not read the wrong file yet.
            var file = found
            file.usesFormer = apps.contains { app in app.app == file.app || app.teams.contains { $0 == file.team } }
            return file
        }
    }
    /// Whether it is the configuration of the system's service.
    var isSystem: Bool { StandardDirectory.isSystem(file) }
    /// The command that controls its units.
    var systemctl: String { userID == 0 ? "systemctl" : isSystem ? "sudo systemctl" : "systemctl --user" }
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
        if status == nil, publicStatus == nil {
            takenPorts = (configuration?.listeners ?? []).map(\.address).filter(PortLook.isTaken)
        }
        store = (status?.stateDirectory ?? configuration?.stateDirectory).map { StoreLook(directory: $0) }
        backups = BackupsLook(folder: StandardDirectory.backups(of: file, in: context), now: now)
        // A systemd that hangs is waited for once.
        if unit != nil { backupSchedule = tools.backupSchedule() }
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
            if error.code == .notPermitted { publicStatus = try? client.get(RequestTarget("status")) }
            return
        }
        // Other users get an error, and the checks do without.
        apps = try? (client.get(RequestTarget("apps")) as AppListMessage).apps
        audio = try? client.get(RequestTarget("audio"))
        protection = try? client.get(RequestTarget("protection"))
        isKeyFileOpen = protection?.keyFile.flatMap(FileLook.isOpenToOthers)
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
        let handlers = configuration?.handlers ?? []
        for handler in handlers where handler.way == "unit" {
            handlerUnits[handler.target] = tools.unit(ofHandler: handler.target, manager: handler.manager)
        }
        for isSession in [false, true] {
            var needed = handlers.filter { $0.way == "dbus" && ($0.bus == "session") == isSession }.map(\.target)
            if !isSession, handlers.contains(where: { $0.way == "unit" && $0.manager == "system" }) {
                needed.append(HandlerUnitCheck.polkit)
            }
            guard !needed.isEmpty, let names = tools.names(onSessionBus: isSession) else { continue }
            for name in needed { knownNames[name] = names.contains(name) }
            // The bus lists it, although systemd would refuse to start it.
            if needed.contains(HandlerUnitCheck.polkit),
                tools.unit(ofHandler: "polkit.service", manager: "system")?.load == "masked"
            {
                knownNames[HandlerUnitCheck.polkit] = false
            }
        }
    }
}

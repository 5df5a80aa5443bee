import CRingwakeLinux
import FileSystem
import Glibc
import RingwakeCore

/// A unit, as systemd reports it.
struct UnitLook: Equatable {
    /// `loaded`, `not-found`, `masked`, ...
    var load: String
    /// `active`, `inactive`, `failed`, ...
    var active: String
    /// Why it ended: `success`, `exit-code`, ...
    var result: String
    /// The exit status of its last run.
    var exitStatus: String
    /// `User=`; nil if it runs as its manager's.
    var user: String?
    /// The newest line of its log; nil if it has none, or this user may not read it.
    var lastLine: String?
}

/// systemd's programs. They may be missing, and may hang with the manager.
struct SystemTools {
    private static let timeout = Duration.seconds(5)
    private static let maximumBytes = 64 * 1024
    private static let daemon = "ringwaked.service"
    private static let backup = "ringwake-backup"

    private let isSystem: Bool
    private let systemctl: String?
    private let journalctl: String?
    private let busctl: String?

    /// - Parameter isSystem: whether the daemon is the system's or a user's.
    init(environment: (String) -> String?, isSystem: Bool) {
        let folders = (environment("PATH") ?? "/usr/bin:/bin").split(separator: ":").map(String.init)
        func find(_ name: String) -> String? {
            folders.map { "\($0)/\(name)" }.first(where: FileSystem.isExecutableFile)
        }
        self.isSystem = isSystem
        systemctl = find("systemctl")
        journalctl = find("journalctl")
        busctl = find("busctl")
    }

    /// Nil without systemd.
    func daemonUnit() -> UnitLook? {
        unit(Self.daemon) { _ in (isSystem ? [] : ["--user"]) + ["--unit=" + Self.daemon] }
    }

    /// Nil without systemd, or if the units are not installed.
    func backupSchedule() -> BackupScheduleLook? {
        guard let timer = properties(["UnitFileState", "ActiveState"], of: Self.backup + ".timer", isUser: !isSystem),
            // What systemd says of a run says less than the program, and an earlier run says nothing about the last.
            let service = unit(
                Self.backup + ".service", log: { ["_SYSTEMD_INVOCATION_ID=" + ($0["InvocationID"] ?? "")] }),
            service.load == "loaded"
        else { return nil }
        let isEnabled = timer["UnitFileState"]?.hasPrefix("enabled") == true || timer["ActiveState"] == "active"
        return BackupScheduleLook(isEnabled: isEnabled, service: service)
    }

    /// - Parameter log: the arguments of journalctl for its log, from its properties.
    private func unit(_ name: String, log: ([String: String]) -> [String]) -> UnitLook? {
        let names = ["LoadState", "ActiveState", "Result", "ExecMainStatus", "User", "InvocationID"]
        guard let values = properties(names, of: name, isUser: !isSystem), let load = values["LoadState"] else {
            return nil
        }
        return UnitLook(
            load: load, active: values["ActiveState"] ?? "", result: values["Result"] ?? "",
            exitStatus: values["ExecMainStatus"] ?? "",
            user: values["User"].flatMap { $0.isEmpty ? nil : $0 },
            lastLine: load == "loaded" ? lastLine(log(values)) : nil)
    }

    /// The unit of a handler; nil if the manager doesn't answer.
    func unit(ofHandler name: String, manager: String?) -> HandlerUnitLook? {
        let suffix = "@.service"
        let instance =
            name.hasSuffix(suffix) ? "\(name.dropLast(suffix.count))@\(HandlerUnitLook.instance).service" : name
        return properties(HandlerUnitLook.properties, of: instance, isUser: manager == "user")
            .flatMap(HandlerUnitLook.init)
    }

    /// The names that a bus has an owner of, or can start one for; nil if the bus doesn't answer.
    func names(onSessionBus isSession: Bool) -> Set<String>? {
        let scope = isSession ? "--user" : "--system"
        guard let busctl, let text = run([busctl, scope, "--no-legend", "--acquired", "--activatable", "list"]) else {
            return nil
        }
        return Set(text.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) })
    }

    private func properties(_ names: [String], of unit: String, isUser: Bool) -> [String: String]? {
        guard let systemctl else { return nil }
        let scope = isUser ? ["--user"] : []
        guard let text = run([systemctl] + scope + ["show", "--property=" + names.joined(separator: ","), "--", unit])
        else { return nil }
        var values: [String: String] = [:]
        for line in text.split(separator: "\n") {
            guard let sign = line.firstIndex(of: "=") else { continue }
            values[String(line[..<sign])] = String(line[line.index(after: sign)...])
        }
        return values
    }

    private func lastLine(_ log: [String]) -> String? {
        guard let journalctl else { return nil }
        let text = run([journalctl, "--quiet", "--no-pager", "--output=cat", "--lines=1"] + log)
        return text?.split(separator: "\n").last.map(String.init)
    }

    /// The standard output of a command; nil if it fails or doesn't end in time.
    private func run(_ command: [String]) -> String? {
        guard let output = try? Pipe() else { return nil }
        let null = ringwake_open("/dev/null", O_RDWR, 0)
        guard null >= 0 else { return nil }
        defer { close(null) }
        guard let process = try? spawn(command, input: null, output: output.writing, error: null) else { return nil }
        output.closeWriting()
        let text = output.read(maximumBytes: Self.maximumBytes, until: Deadline(after: Self.timeout))
        if text == nil { kill(-process, SIGKILL) }
        let status = DaemonProgram.reap(process)
        return status == 0 ? text.map { String(decoding: $0, as: UTF8.self) } : nil
    }
}

extension Pipe {
    /// Everything until the last writer closes; nil if that takes too long, or is too much.
    func read(maximumBytes: Int, until deadline: Deadline) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= maximumBytes {
            var entry = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
            let ready = poll(&entry, 1, deadline.pollTimeout)
            if ready == 0 || (ready < 0 && errno != EINTR) { return nil }
            guard ready > 0 else { continue }
            let count = Glibc.read(reading, &buffer, buffer.count)
            if count == 0 { return bytes }
            if count < 0, errno != EINTR { return nil }
            bytes += buffer[..<max(0, count)]
        }
        return nil
    }
}

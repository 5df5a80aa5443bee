internal import ControlProtocol
internal import DaemonConfiguration
internal import DeviceServices
internal import FileSystem
internal import Glibc
internal import RingwakeCore

/// Whether the daemon can ring as configured, from where this process runs: the sandbox of the system's unit hides files
/// and devices, and its user may not use each audio server. It knows the players of ALSA, PulseAudio and PipeWire; of
/// another program, only that it can be executed.
struct RingCheck {
    typealias Dependency = ConfigurationMessage.Dependency

    /// The group of those who may use a PulseAudio that runs as a system service.
    private static let pulseGroup = "pulse-access"

    /// The programs and the file of `[ring]`, each with what is wrong.
    let dependencies: [Dependency]

    /// What is wrong, a line each.
    var problems: [String] { dependencies.compactMap(\.fault) }

    init(_ configuration: Configuration) {
        let ring = configuration.ring
        let commands = [("ring.command", ring.command), ("ring.vibrate", ring.vibrate), ("ring.waiting", ring.waiting)]
        var found = commands.compactMap { name, command in
            command?.first.map { program in
                Dependency(
                    name: name, path: program,
                    problem: RingCheck.problem(ofProgram: program)
                        ?? (configuration.isSystem ? RingCheck.problem(ofPlayer: program) : nil))
            }
        }
        // A desktop's notification server may have a sound; the system's service has no desktop.
        if ring.command == nil, configuration.isSystem || !ring.notifications {
            let apps = configuration.apps.values.filter {
                $0.policy.ringer == .daemon || $0.policy.fallback == .ring
            }
            if let first = apps.map(\.id.rawValue).min() {
                found.append(
                    Dependency(
                        name: "ring.command", path: "",
                        problem: "it is missing, and the daemon is to ring for \(first): nobody would hear it; set "
                            + "ring.command and ring.ringtone"))
            }
        }
        for file in Set([ring.ringtone].compactMap { $0 } + configuration.apps.values.compactMap(\.ringtone)).sorted() {
            let isReadable = faccessat(AT_FDCWD, file, R_OK, AT_EACCESS) == 0
            let advice = "the daemon's user cannot read it; put it there, or correct the path"
            found.append(
                Dependency(
                    name: "ring.ringtone", path: file, problem: isReadable ? nil : advice + RingCheck.hidden(file)))
        }
        dependencies = found
    }

    static func problem(ofProgram path: String) -> String? {
        guard FileSystem.exists(path) else {
            return "there is no such file; install it, or correct the path" + hidden(path)
        }
        return FileSystem.isExecutableFile(path)
            ? nil : "the daemon's user may not execute it; run chmod +x, or correct the path"
    }

    /// What to know of a file that may be there, for everybody but the daemon.
    private static func hidden(_ path: String) -> String {
        let folders = ["/home/", "/run/user/", "/tmp/", "/var/tmp/"]
        return folders.contains { path.hasPrefix($0) }
            ? " (the sandbox of the system's unit hides home directories and /tmp; /usr/share is visible)" : ""
    }

    /// Why a player that is known makes no sound for the system's daemon; nil if nothing is known.
    private static func problem(ofPlayer path: String) -> String? {
        switch path.split(separator: "/").last {
        case "aplay": problemOfCards()
        case "paplay", "pacat": problemOfPulseAudio()
        case "pw-play", "pw-cat":
            isReachable("pipewire-0", "PIPEWIRE_REMOTE", of: "/run/pipewire")
                ? nil
                : "the daemon's user reaches no PipeWire; start one for it, and set XDG_RUNTIME_DIR for the daemon"
        default: nil
        }
    }

    private static func problemOfCards() -> String? {
        let folder = "/dev/snd"
        let outputs = ((try? FileSystem.entries(of: folder)) ?? []).filter { $0.hasPrefix("pcm") && $0.hasSuffix("p") }
        guard !outputs.isEmpty else {
            return "there is no sound card here: none in the machine, or the sandbox of the system's unit hides it; "
                + "for a card, set PrivateDevices=no, DeviceAllow=char-alsa rw and SupplementaryGroups=audio"
        }
        let isUsable = outputs.contains { faccessat(AT_FDCWD, "\(folder)/\($0)", R_OK | W_OK, AT_EACCESS) == 0 }
        return isUsable ? nil : "the daemon's user may not use the sound card; set SupplementaryGroups=audio"
    }

    private static func problemOfPulseAudio() -> String? {
        guard !isReachable("pulse/native", "PULSE_SERVER", of: nil) else { return nil }
        let server = "/run/pulse/native"
        guard FileSystem.exists(server) else {
            return "the daemon's user reaches no PulseAudio: there is no \(server), and PULSE_SERVER is not set"
        }
        guard geteuid() != 0, let group = getgrnam(pulseGroup)?.pointee.gr_gid else { return nil }
        return isMember(of: group)
            ? nil
            : "the daemon's user is not in the group \(pulseGroup), so PulseAudio refuses it; run 'usermod --append "
                + "--groups \(pulseGroup) ringwake', and start the daemon again"
    }

    /// Whether this process has the group, which it may have got after its start only by starting again.
    private static func isMember(of group: gid_t) -> Bool {
        guard getegid() != group else { return true }
        let count = getgroups(0, nil)
        guard count > 0 else { return false }
        var groups = [gid_t](repeating: 0, count: Int(count))
        return getgroups(count, &groups) >= 0 && groups.contains(group)
    }

    /// Whether a variable names a server, or a server's socket is in the user's folder, or in another one.
    private static func isReachable(_ socket: String, _ variable: String, of folder: String?) -> Bool {
        if getenv(variable) != nil { return true }
        let own = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }
        return [own, "/run/user/\(geteuid())", folder].contains {
            $0.map { faccessat(AT_FDCWD, "\($0)/\(socket)", W_OK, AT_EACCESS) == 0 } ?? false
        }
    }
}

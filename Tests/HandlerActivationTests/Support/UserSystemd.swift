import CRingwakeLinux
import DBus
import Glibc
import Testing

/// A real `systemd --user` with the session bus that it starts where the harness looks for it, although PID 1 of this
/// machine may be something else: in a mount and a cgroup namespace of its own, where it finds what it asks for. Needs
/// root and writable cgroups.
final class UserSystemd {
    nonisolated static let program = "/lib/systemd/systemd"

    private nonisolated static let folder = "/sys/fs/cgroup"

    /// The hierarchies that systemd uses: one, or on a machine with the older ones two.
    private nonisolated static var hierarchies: [String] {
        let hybrid = ["\(folder)/systemd", "\(folder)/unified"].filter { access("\($0)/cgroup.procs", W_OK) == 0 }
        return access("\(folder)/cgroup.procs", W_OK) == 0 ? [folder] : hybrid
    }

    nonisolated static let isAvailable: Bool = {
        guard geteuid() == 0, access(program, X_OK) == 0, let first = hierarchies.first else { return false }
        let probe = "\(first)/ringwakeprobe\(getpid()).slice"
        guard mkdir(probe, 0o755) == 0 else { return false }
        rmdir(probe)
        guard let unshare = try? TestProcess(["/usr/bin/unshare", "-C", "-m", "/bin/true"]) else { return false }
        return unshare.waitForEnd() == 0
    }()

    private let harness: Harness
    private var process: TestProcess?
    private let slice: String

    /// - Parameter units: Unit files, by name.
    init(_ harness: Harness, units: [String: String] = [:]) throws {
        self.harness = harness
        let name = harness.directory.split(separator: ".").last.map(String.init) ?? ""
        // As the manager of this user's: slices, then its own service.
        slice = "ringwaketest\(name).slice"
        for part in ["config", "config/systemd", "config/systemd/user"] { mkdir(harness.path(part), 0o700) }
        for (unit, text) in units { try harness.write("config/systemd/user/\(unit)", text) }
        try harness.write("systemd.sh", Self.script)
        try start()
    }

    isolated deinit {
        stop()
    }

    func start() throws {
        process = try TestProcess(
            ["/bin/sh", harness.path("systemd.sh"), slice] + Self.hierarchies,
            environment: [
                "XDG_RUNTIME_DIR=\(harness.directory)", "XDG_CONFIG_HOME=\(harness.path("config"))",
                "HOME=\(harness.directory)",
            ], output: harness.path("systemd.log"))
        harness.runUntil { canConnect(to: harness.path("bus")) }
        // Connecting starts the bus, and the bus brings systemd to it.
        var owner: String?
        let watch = harness.bus.watchName("org.freedesktop.systemd1") { owner = $0 }
        harness.runUntil { owner != nil }
        watch.cancel()
    }

    /// Kills the manager and all it has started.
    func stop() {
        process?.stop()
        process = nil
        for hierarchy in Self.hierarchies {
            let group = "\(hierarchy)/\(slice)"
            guard access(group, F_OK) == 0 else { continue }
            let clean =
                "for i in 1 2 3 4 5 6 7 8 9; do cat $(find \(group) -name cgroup.procs) | xargs -r kill -9; "
                + "find \(group) -depth -type d -exec rmdir {} + && break; sleep 0.1; done 2>/dev/null"
            _ = try? TestProcess(["/bin/sh", "-c", clean]).waitForEnd()
        }
    }

    /// Kills the session bus alone.
    func killBus() throws {
        for hierarchy in Self.hierarchies {
            let kill = "kill -9 $(cat $(find \(hierarchy)/\(slice) -path '*dbus.service/cgroup.procs'))"
            _ = try TestProcess(["/bin/sh", "-c", kill]).waitForEnd()
        }
    }

    /// Kills the manager alone, whose units go on.
    func killManager() {
        process?.stop()
        process = nil
    }

    /// $1: a slice; the others: hierarchies.
    private static let script = """
        slice=$1; shift
        for hierarchy; do
            mkdir -p "$hierarchy/$slice/user@0.service"
            echo $$ > "$hierarchy/$slice/user@0.service/cgroup.procs"
        done
        exec unshare -C -m /bin/sh -ec '
            umount -R /sys/fs/cgroup
            if [ "$#" = 1 ]; then
                mount -t cgroup2 cgroup2 /sys/fs/cgroup
            else
                mount -t tmpfs tmpfs /sys/fs/cgroup
                mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
                mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
                mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
            fi
            # What tells a user instance that the machine was booted with systemd.
            mount -t tmpfs tmpfs /run
            mkdir -p /run/systemd/system
            exec /lib/systemd/systemd --user --log-target=console --log-level=info
        ' sh "$@"
        """
}

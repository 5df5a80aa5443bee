import CRingwakeLinux
import Glibc
import Testing

/// A `dbus-daemon` of the test's own, where the harness looks for both buses.
final class PrivateBus {
    private let harness: Harness
    private var daemon: TestProcess?

    init(_ harness: Harness) throws {
        self.harness = harness
        mkdir(harness.path("services"), 0o700)
        try harness.write("bus.conf", Self.configuration(harness.directory))
        try start()
    }

    func start() throws {
        unlink(harness.path("bus"))
        daemon = try TestProcess(
            ["/usr/bin/dbus-daemon", "--config-file=\(harness.path("bus.conf"))", "--nofork", "--nopidfile"],
            output: harness.path("bus.log"))
        harness.runUntil { canConnect(to: harness.path("bus")) }
    }

    func kill() {
        daemon?.stop()
        daemon = nil
    }

    /// Lets the bus start a program for a name.
    func install(_ name: String, _ command: String) throws {
        try harness.write("services/\(name).service", "[D-BUS Service]\nName=\(name)\nExec=\(command)\n")
    }

    private static func configuration(_ directory: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>unix:path=\(directory)/bus</listen>
          <auth>EXTERNAL</auth>
          <servicedir>\(directory)/services</servicedir>
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
            <deny send_destination="org.example.Closed" send_interface="org.ringwake.Handler1"/>
          </policy>
        </busconfig>
        """
    }
}

func canConnect(to path: String) -> Bool {
    var address = sockaddr_storage()
    let length = ringwake_unix_address(path, &address)
    let descriptor = ringwake_stream_socket(AF_UNIX)
    defer { close(descriptor) }
    return ringwake_connect(descriptor, &address, length) == 0
}

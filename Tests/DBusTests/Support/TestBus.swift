import DBus
import Glibc
import RunLoop
import Testing

/// A `dbus-daemon` of the test's own, in a folder of its own.
final class TestBus {
    let loop: TestLoop
    let folder: String
    private(set) var daemon: TestProcess?
    private var peers: [TestProcess] = []
    private var connections: [DBusConnection] = []
    private var services: [DBusService] = []

    var address: DBusAddress { .address("unix:path=\(folder)/bus") }

    /// - Parameter isStarted: False for one that is started later.
    init(isStarted: Bool = true) throws {
        loop = try TestLoop()
        var template = Array("/tmp/ringwake-dbus-XXXXXX".utf8CString)
        folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        mkdir(folder + "/services", 0o700)
        try write("bus.conf", Self.configuration(folder))
        try write("peer.py", PeerScript.text)
        try write("raw.py", RawBusScript.text)
        try write(
            "services/org.example.Started.service",
            "[D-BUS Service]\nName=org.example.Started\nExec=/usr/bin/python3 \(folder)/peer.py org.example.Started\n")
        if isStarted { try start() }
    }

    func start() throws {
        unlink(folder + "/bus")
        let daemon = try TestProcess(
            ["/usr/bin/dbus-daemon", "--config-file=\(folder)/bus.conf", "--nofork", "--nopidfile", "--print-address"],
            loop)
        self.daemon = daemon
        try #require(loop.drive { daemon.output.contains("\n") }, "\(daemon.output)")
    }

    /// A socket at the bus's address, behind which a script imitates a bus that misbehaves.
    func startRawBus(_ behaviour: String) throws {
        unlink(folder + "/bus")
        let daemon = try TestProcess(["/usr/bin/python3", folder + "/raw.py", folder + "/bus", behaviour], loop)
        self.daemon = daemon
        try #require(loop.drive { daemon.output.contains("ready") }, "\(daemon.output)")
    }

    func kill() {
        daemon?.stop()
        daemon = nil
    }

    /// A service in Python, which has its name when this returns.
    func startPeer(_ name: String = "org.example.Peer") throws -> TestProcess {
        let peer = try TestProcess(["/usr/bin/python3", folder + "/peer.py", name, folder + "/bus"], loop)
        peers.append(peer)
        try #require(loop.drive { peer.output.contains("ready") }, "\(peer.output)")
        return peer
    }

    func connect(patience: Duration = .seconds(10)) throws -> DBusConnection {
        let connection = try DBusConnection(
            address: address, environment: [:], runLoop: loop.runLoop, logger: loop.logger, label: "test",
            openingTimeout: patience)
        connections.append(connection)
        return connection
    }

    func service(patience: Duration = .seconds(10)) -> DBusService {
        let service = DBusService(
            address: address, environment: [:], runLoop: loop.runLoop, logger: loop.logger, label: "test",
            openingTimeout: patience)
        services.append(service)
        return service
    }

    func stop() {
        for service in services { service.close() }
        for connection in connections { connection.close() }
        for peer in peers { peer.stop() }
        kill()
        for file in ["bus", "bus.conf", "peer.py", "raw.py", "services/org.example.Started.service"] {
            unlink("\(folder)/\(file)")
        }
        rmdir(folder + "/services")
        rmdir(folder)
    }

    private func write(_ file: String, _ text: String) throws {
        let stream = try #require(fopen("\(folder)/\(file)", "w"))
        fputs(text, stream)
        fclose(stream)
    }

    private static func configuration(_ folder: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>unix:path=\(folder)/bus</listen>
          <auth>EXTERNAL</auth>
          <servicedir>\(folder)/services</servicedir>
          <limit name="max_replies_per_connection">5000</limit>
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
          </policy>
        </busconfig>
        """
    }
}

extension DBusConnection {
    /// Calls a method of the peer.
    @discardableResult
    func callPeer(
        _ member: String, _ arguments: [DBusValue] = [], name: String = "org.example.Peer", autoStart: Bool = true,
        timeout: Duration = .seconds(20), _ completion: @escaping DBusCall.Completion
    ) -> DBusCall {
        call(
            destination: name, path: "/peer", interface: "org.example.Peer", member: member, arguments: arguments,
            allowAutoStart: autoStart, timeout: timeout, completion: completion)
    }
}

extension TestLoop {
    /// Makes a call and turns the loop until it has ended.
    func result(_ body: (@escaping DBusCall.Completion) -> Void) throws -> Result<[DBusValue], DBusError> {
        var result: Result<[DBusValue], DBusError>?
        body { result = $0 }
        // Never from within the call itself.
        #expect(result == nil)
        _ = drive { result != nil }
        return try #require(result)
    }
}

extension Result {
    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

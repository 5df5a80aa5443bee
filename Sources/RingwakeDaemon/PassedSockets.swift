internal import ControlProtocol
internal import DaemonConfiguration
internal import Glibc
internal import HTTPServer
internal import RingwakeCore
internal import ServiceManager

/// The sockets that systemd opened for the daemon, by the names of their `.socket` units.
struct PassedSockets {
    /// The control socket; nil if the daemon opens it itself.
    let control: PassedSocket?
    /// Provider ports, each with the environment that it is named after.
    let providers: [(socket: PassedSocket, environment: PushEnvironment)]
    /// Provider ports that a device doesn't accept from. systemd keeps them open.
    let unused: [StatusMessage.UnusedPort]

    /// Whether systemd has opened none.
    var isEmpty: Bool { control == nil && providers.isEmpty && unused.isEmpty }

    private static let controlName = "control"

    /// - Throws: `badConfiguration` if a name has no meaning here, or the socket is of the wrong kind.
    init(_ sockets: [PassedSocket] = [], of role: DaemonRole = .both) throws(RingwakeError) {
        var control: PassedSocket?
        var providers: [(socket: PassedSocket, environment: PushEnvironment)] = []
        var unused: [StatusMessage.UnusedPort] = []
        for socket in sockets {
            if let environment = PushEnvironment(rawValue: socket.name) {
                guard socket.isTCPListener else { throw PassedSockets.wrongKind(socket, "a TCP socket") }
                guard role != .device else {
                    let address = try TCPListeningSocket.adopt(socket.descriptor).localAddress
                    unused.append(.init(address: "\(address)", environment: environment.rawValue))
                    close(socket.descriptor)
                    continue
                }
                providers.append((socket, environment))
            } else if socket.name == PassedSockets.controlName {
                guard socket.isUnixListener() else { throw PassedSockets.wrongKind(socket, "a unix socket") }
                guard control == nil else {
                    throw RingwakeError(
                        .badConfiguration,
                        "systemd passes two sockets with FileDescriptorName=control; "
                            + "disable one of their .socket units")
                }
                control = socket
            } else {
                throw RingwakeError(
                    .badConfiguration,
                    "systemd passes a socket with FileDescriptorName=\(socket.name), which means nothing to ringwaked; "
                        + "name it control, development or production in its .socket unit")
            }
        }
        self.control = control
        self.providers = providers
        self.unused = unused
    }

    /// The environments that have a port, from systemd or by the configuration.
    func environments(with configuration: Configuration) -> [PushEnvironment] {
        let both = configuration.listeners.map(\.environment) + providers.map(\.environment)
        return PushEnvironment.allCases.filter(both.contains)
    }

    /// Checks that no socket of systemd's contradicts the configuration.
    ///
    /// - Throws: `badConfiguration` with both sides.
    func check(_ configuration: Configuration) throws(RingwakeError) {
        if let control, !control.isUnixListener(at: configuration.controlSocket) {
            throw RingwakeError(
                .badConfiguration,
                "systemd does not listen on the control socket \(configuration.controlSocket) of \(configuration.file); "
                    + "write that path to ListenStream= of the .socket unit, or change runtime_directory")
        }
        for (socket, environment) in providers {
            let address = try TCPListeningSocket.adopt(socket.descriptor).localAddress
            if let listener = configuration.listeners.first(where: { $0.environment == environment }) {
                throw RingwakeError(
                    .badConfiguration,
                    "\(configuration.file) has a [[listener]] for \(environment.rawValue) on \(listener.address), and "
                        + "systemd passes a socket for it on \(address) (FileDescriptorName=\(environment.rawValue)); "
                        + "remove the [[listener]], or disable the .socket unit")
            }
            guard configuration.server != nil else {
                throw RingwakeError(
                    .badConfiguration,
                    "systemd passes a provider port on \(address), but \(configuration.file) has no [server] with its "
                        + "certificate and key; add one, or disable the .socket unit")
            }
        }
    }

    private static func wrongKind(_ socket: PassedSocket, _ wanted: String) -> RingwakeError {
        RingwakeError(
            .badConfiguration,
            "the socket that systemd passes with FileDescriptorName=\(socket.name) is not \(wanted) that listens; "
                + "correct ListenStream= of its .socket unit")
    }
}

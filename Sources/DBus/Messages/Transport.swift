import CRingwakeSystemd
import Glibc
import RunLoop

/// The socket to a bus, with sd-bus on top of it. Nothing in here blocks.
///
/// Nonisolated and owned by one connection, so that releasing it closes everything, in the right order.
final class Transport {
    /// The result of one step of ``process(isFeeding:)``.
    enum Step {
        /// There is nothing to do.
        case idle
        /// Something was sent, or a part of a message was read.
        case progress
        case received(ReceivedMessage)
        /// A message that is too large is being dropped; it replies to the call with this serial number.
        case dropping(replyTo: UInt64?, bytes: UInt64)
        case failed(DBusError)
    }

    let bus: OpaquePointer
    /// The bus's socket, sd-bus's output. sd-bus owns it, and closes it in ``close()`` at the earliest.
    private let descriptor: Int32
    /// Where sd-bus's input comes from.
    private let gate: InboundGate
    private var source: ReadinessSource?
    private var isClosed = false

    /// Connects to the first that listens, and begins the handshake.
    ///
    /// - Throws: `noServer`.
    init(endpoints: [UnixEndpoint]) throws(DBusError) {
        descriptor = try Self.connect(endpoints)
        var bus: OpaquePointer?
        var ends: [Int32] = [-1, -1]
        var result = ringwake_dbus_pair(&ends)
        if result >= 0 { result = sd_bus_new(&bus) }
        if result >= 0 { result = sd_bus_set_bus_client(bus, 1) }
        if result >= 0 { result = sd_bus_set_fd(bus, ends[0], descriptor) }
        guard result >= 0, let bus else {
            for number in ends + [descriptor] where number >= 0 { _ = Glibc.close(number) }
            sd_bus_unref(bus)
            throw DBusError(name: DBusError.noServer, message: String(systemError: result))
        }
        self.bus = bus
        gate = InboundGate(socket: descriptor, pair: ends[1])
        result = sd_bus_start(bus)
        guard result >= 0 else {
            isClosed = true
            sd_bus_close_unref(bus)
            throw DBusError(name: DBusError.noServer, message: String(systemError: result))
        }
    }

    deinit { close() }

    private static func connect(_ endpoints: [UnixEndpoint]) throws(DBusError) -> Int32 {
        var failures: [String] = []
        for endpoint in endpoints {
            let result = endpoint.name.withUnsafeBufferPointer {
                ringwake_dbus_connect($0.baseAddress, $0.count, endpoint.isAbstract)
            }
            if result >= 0 { return result }
            failures.append("\(endpoint.shown): \(String(systemError: result))")
        }
        throw DBusError(name: DBusError.noServer, message: "no message bus at \(failures.joined(separator: ", "))")
    }

    func watch(on loop: RunLoop, cause: WakeupCause, _ body: @escaping () -> Void) throws(DBusError) {
        do throws(RunLoopError) {
            source = try loop.watch(descriptor, for: interest, cause: cause) { _ in body() }
        } catch {
            throw DBusError(name: DBusError.noServer, message: error.description)
        }
    }

    func updateInterest() throws(RunLoopError) {
        try source?.update(interest)
    }

    private var interest: Interest {
        let events = sd_bus_get_events(bus)
        guard events > 0 else { return .read }
        return events & POLLOUT != 0 ? [.read, .write] : .read
    }

    var isReady: Bool { sd_bus_is_ready(bus) > 0 }

    var queuedMessages: UInt64 {
        var count: UInt64 = 0
        return sd_bus_get_n_queued_write(bus, &count) >= 0 ? count : 0
    }

    var uniqueName: String? {
        var name: UnsafePointer<CChar>?
        guard sd_bus_get_unique_name(bus, &name) >= 0, let name else { return nil }
        return String(cString: name)
    }

    /// Runs one step of sd-bus: writes waiting messages, or reads one. If sd-bus has nothing to do, runs one step of
    /// the gate.
    ///
    /// - Parameter isFeeding: false to finish: handles what sd-bus was fed, and reads no more.
    func process(isFeeding: Bool) -> Step {
        guard isOpen else { return .failed(Self.lostError) }
        var message: OpaquePointer?
        let result = sd_bus_process(bus, &message)
        if let message { return .received(ReceivedMessage(message)) }
        if result < 0 { return .failed(DBusError(name: DBusError.disconnected, message: Self.reason(result))) }
        guard isOpen else { return .failed(Self.lostError) }
        guard result == 0 else { return .progress }
        guard isFeeding else { return .idle }
        switch gate.step() {
        case .fed: return .progress
        case .idle: return .idle
        case .dropping(let cookie, let bytes): return .dropping(replyTo: cookie, bytes: bytes)
        case .ended: return .failed(Self.lostError)
        }
    }

    /// False if sd-bus has seen the end. Don't run its next step then: it would close the descriptor while the loop
    /// watches it.
    var isOpen: Bool { sd_bus_is_open(bus) > 0 }

    private static let lostError = DBusError(
        name: DBusError.disconnected, message: "the message bus closed the connection")

    private static func reason(_ result: Int32) -> String {
        switch -result {
        case EPERM: "the message bus refuses this user"
        case EBADMSG, EIO: "the message bus sent what is no message (\(String(systemError: result)))"
        default: String(systemError: result)
        }
    }

    /// Drops queued messages, because flushing would block. Idempotent.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        source?.cancel()
        source = nil
        sd_bus_close_unref(bus)
    }
}

internal import Cryptography
internal import DeviceLink
internal import MQTT5
internal import RingwakeCore
internal import RunLoop

/// One connection to a gateway: drives a ``DeviceSession`` over a ``PacketStream``.
final class LinkClientConnection: PacketStreamOwner {
    /// Gets what the session puts out, but what is to be sent.
    var onOutput: (DeviceSession.Output) -> Void = { _ in }

    private let runLoop: RunLoop
    private let stream: PacketStream
    private var session: DeviceSession
    private var timer: Timer?
    /// The gateway's boot clock less this device's, in ms.
    private var clockOffset: Int64 = 0
    /// When CONNECT was sent. The gateway's answer may lie in a buffer while the machine sleeps.
    private var connectedAt = BootInstant(nanoseconds: 0)

    private static let tolerance = Duration.milliseconds(500)
    /// Without a word from the gateway about it, in seconds.
    private static let standardKeepAlive: UInt16 = 240

    /// The device's own keep-alive, in seconds: seldom, for the gateway's keeps the way open. It is there to find a link
    /// that the way has forgotten, and costs this process no wakeup until then.
    private static func keepAlive(_ gateways: UInt16) -> Int32 {
        Int32(gateways == 0 ? standardKeepAlive : gateways) * 2
    }

    /// Takes ownership of the descriptor.
    init(
        runLoop: RunLoop, tls: TLSConnection, descriptor: Int32, device: DeviceID, purpose: DeviceSession.Purpose
    ) {
        self.runLoop = runLoop
        stream = PacketStream(
            runLoop: runLoop, tls: tls, descriptor: descriptor, maximumPacketBytes: LinkLimits.packetBytes)
        session = DeviceSession(device: device, purpose: purpose)
    }

    /// Introduces the device.
    ///
    /// - Throws: `system` if the loop can't watch the socket.
    func begin(_ greeting: DeviceSession.Greeting, authentication: [UInt8]?) throws(RingwakeError) {
        stream.owner = self
        do throws(RunLoopError) {
            try stream.begin(cause: .link)
        } catch {
            throw RingwakeError(.system, "the connection to the gateway cannot be watched: \(error)")
        }
        connectedAt = now
        run(session.begin(greeting, authentication: authentication, at: now))
    }

    var isLinked: Bool { session.isLinked }

    func publish(_ message: UplinkMessage) { run(session.publish(message, at: now)) }
    func settle(_ packetID: UInt16, _ settlement: DeviceSession.Settlement) {
        run(session.settle(packetID, settlement))
    }
    /// - Parameter limit: how long the gateway may take to answer.
    func ping(within limit: Duration = DeviceSession.answerTime) { run(session.ping(at: now, within: limit)) }
    func leave() { run(session.leave()) }

    /// Sets the device's own keep-alive by that of the gateway, in seconds.
    func setKeepAlive(_ gateways: UInt16) { stream.keepAlive(idle: Self.keepAlive(gateways)) }

    /// Closes the connection at once.
    func close() {
        cancelTimer()
        stream.reset()
    }

    /// How long ago a push arrived at the gateway, by the boot clocks of both: time in a suspended device counts.
    func age(of push: LinkPush) -> Duration {
        let gateway = now.nanoseconds / 1_000_000 + clockOffset
        let (age, overflow) = gateway.subtractingReportingOverflow(push.arrivedBoot)
        return .milliseconds(overflow ? Int64.max / 1_000_000 : max(0, age))
    }

    func received(_ packet: MQTTPacket) { run(session.receive(packet, at: now)) }
    func failed(_ error: MQTTError) { run(session.fail("the gateway sent bytes that are no packet: \(error.text)")) }
    func ended(_ cause: String) {
        cancelTimer()
        guard !session.isEnded else { return }
        session = DeviceSession(device: session.device, purpose: .probe)
        onOutput(.end(LinkEnd(.broken, cause)))
    }

    private var now: BootInstant { BootInstant(nanoseconds: BootClock.now().nanoseconds) }

    private func run(_ outputs: [DeviceSession.Output]) {
        for output in outputs {
            switch output {
            case .send(let packet):
                stream.send(packet)
                continue
            case .welcomed(let welcome):
                // As of CONNECT: a push may look a little older than it is, but never younger.
                setKeepAlive(welcome.timing.keepAlive)
                clockOffset = welcome.now - connectedAt.nanoseconds / 1_000_000
            case .end:
                cancelTimer()
                stream.closeWhenSent()
            default: break
            }
            onOutput(output)
        }
        setTimer()
    }

    private func setTimer() {
        cancelTimer()
        guard !stream.isClosed, let deadline = session.deadline else { return }
        timer = runLoop.schedule(
            at: BootClock.Instant(nanoseconds: deadline.nanoseconds), tolerance: Self.tolerance
        ) { [weak self] in
            guard let self else { return }
            timer = nil
            let outputs = session.deadlineReached(at: now)
            if session.isEnded { stream.reset() }
            run(outputs)
        }
    }

    private func cancelTimer() {
        if let timer { runLoop.cancel(timer) }
        timer = nil
    }
}

internal import DeviceLink
internal import LinkTransport
internal import Logging
internal import MQTT5
internal import RingwakeCore
internal import RunLoop

/// The gateway that this device has moved away from: connects there once more, takes the pushes that wait there, and
/// leaves, with which its tokens end there. Until then senders that push to it are served.
final class FormerGateway {
    /// Called when the gateway has let the device go, or is given up; later, from the loop.
    var onDone: () -> Void = {}

    private let gateway: PairedGateway
    private let movedAt: Int64
    private let runLoop: RunLoop
    private let logger: Logger
    private var client: LinkClient?
    private let path: LinkPath

    /// A push that waited for so long has expired.
    private static let limit: Int64 = 24 * 3600 * 1000

    /// Nil if the device has not moved, or its former gateway has let it go.
    ///
    /// - Parameters:
    ///   - paired: the gateway that it has now.
    ///   - earliestTime: the wall clock (ms since 1970) is later than this.
    ///   - greeting: what the device says in CONNECT.
    ///   - push: takes a push, as ``LinkClient/Owner/push``.
    /// - Throws: why it can't be connected to.
    init?(
        of paired: PairedGateway, keys: DeviceKeys, earliestTime: Int64, runLoop: RunLoop, network: NetworkWatch,
        logger: Logger, greeting: @escaping () -> DeviceSession.Greeting,
        push: @escaping (LinkPush, Duration, @escaping (DeviceSession.Settlement) -> Void) -> Void
    ) throws(RingwakeError) {
        guard let former = paired.former else { return nil }
        gateway = paired.at(ServerReference(host: former.host, port: former.port))
        movedAt = former.movedAt
        self.runLoop = runLoop
        self.logger = logger
        path = LinkPath(network: network)
        let name = gateway.reference.description
        client = LinkClient(
            runLoop: runLoop, key: keys.signing, device: keys.device, context: try gateway.context(earliestTime),
            localPort: 0, hasPath: false, wallClock: { unixMilliseconds() }, logger: logger,
            owner: LinkClient.Owner(
                greeting: {
                    var greeting = greeting()
                    greeting.hasMoved = true
                    greeting.server = name
                    return greeting
                }, addresses: { [unowned self] in path.addresses.sockets(port: gateway.port) }, push: push,
                welcomed: { _ in }, retimed: { _ in }, linked: {}, published: { _, _ in }, registrations: { _ in },
                ended: { [unowned self] in ended($0) }, problem: { _ in }))
        path.onChange = { [weak self] in
            guard let self else { return }
            client?.pathChanged(hasPath: path.isOpen)
        }
        try path.lead(to: gateway.host)
    }

    /// Gives up, without a call of ``onDone``.
    func close() {
        onDone = {}
        path.close()
        client?.stop()
        client = nil
    }

    private func ended(_ end: LinkEnd) {
        let name = gateway.reference.description
        switch end.cause {
        case .disconnected(.success), .refused(.serverMoved), .refused(.notAuthorized),
            .disconnected(.administrativeAction):
            logger.notice("the former gateway has let this device go", metadata: ["gateway": "\(name)"])
        default:
            guard unixMilliseconds() - movedAt > Self.limit else { return }
            logger.warning("the former gateway is given up", metadata: ["gateway": "\(name)"])
        }
        // Not from within a call of the client.
        runLoop.enqueue { [self] in
            let done = onDone
            close()
            done()
        }
    }
}

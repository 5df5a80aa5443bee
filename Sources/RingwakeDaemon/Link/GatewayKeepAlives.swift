internal import DaemonConfiguration
internal import DeviceLink
internal import LinkTransport
internal import Logging
internal import MQTT5
internal import RingwakeCore
internal import RunLoop

/// The keep-alives of a gateway's links: drives ``LinkKeepAlive`` with the sockets, and stores what it learns.
final class GatewayKeepAlives {
    /// Called when a probe has its result, with what its device is told.
    var endProbe: (LinkID, LinkTiming) -> Void = { _, _ in }
    private(set) var state: LinkKeepAlive
    private let server: LinkServer
    private let runLoop: RunLoop
    private let file: KeepaliveFile
    private let logger: Logger
    private var saveTimer: Timer?

    /// What is learned in this time is lost by a crash.
    private static let savePeriod = Duration.seconds(3600)
    /// How long a device may take to answer a keep-alive that was sent just now.
    private static let answerTime = Duration.seconds(5)

    init(directory: String, settings: GatewaySettings, server: LinkServer, runLoop: RunLoop, logger: Logger) {
        self.server = server
        self.runLoop = runLoop
        self.logger = logger
        let bounds = KeepaliveBounds(
            start: settings.keepAliveStart, shortest: settings.keepAliveShortest, longest: settings.keepAliveLongest)
        file = KeepaliveFile(directory: directory, logger: logger)
        state = file.read(bounds, at: BootInstant(nanoseconds: BootClock.now().nanoseconds))
    }

    private var now: BootInstant { BootInstant(nanoseconds: BootClock.now().nanoseconds) }

    /// A device was accepted. See ``LinkGatewayHost/accepted``.
    func accepted(_ hello: LinkHello, _ link: LinkID) -> (LinkTiming, UInt16?) {
        let address = server.address(of: link) ?? ""
        var tried: Duration?
        switch hello.purpose {
        case .link:
            state.linked(
                link, hello.device, label: hello.network, address: address, isAway: hello.wasAway, at: now)
        case .probe:
            tried = state.beginProbe(link, hello.device, label: hello.network, address: address, at: now)
            if let tried { server.keepAlive(link, tried) }
        case .pair: break
        }
        setIntervals()
        return (state.timing(of: hello.device, at: now), tried.map { UInt16(clamping: $0.components.seconds) })
    }

    func sentPush(on link: LinkID) { state.sent(link, at: now) }

    func received(_ packet: MQTTPacket, on link: LinkID) {
        if case .puback = packet { return }
        state.received(link, at: now)
    }

    func note(_ note: LinkNote) {
        switch note {
        case .acknowledged(let device, _, _, _): state.acknowledged(device, at: now)
        case .unlinked(let link, _, _): state.ended(link, isDead: server.isDead(link), at: now)
        case .probeEnded(let probe, let end): ended(probe, end)
        default: break
        }
    }

    /// Stores what was learned.
    func save() { file.write(state, at: now) }

    private func ended(_ probe: LinkID, _ end: ProbeEnd) {
        guard let device = state.device(ofProbe: probe) else { return }
        switch end {
        case .survived:
            state.probeSurvived(probe, at: now)
            setIntervals()
            endProbe(probe, state.timing(of: device, at: now))
        case .broken:
            // A gateway that needs its place closes a probe, too.
            guard server.isDead(probe), let link = state.probeBroke(probe, at: now) else {
                state.probeLeft(probe, at: now)
                break
            }
            return server.ask(link, within: Self.answerTime) { [weak self] answers in
                guard let self else { return }
                state.probeJudged(probe, deviceAnswers: answers, at: now)
                if let interval = state.interval(of: link) { server.keepAlive(link, interval) }
                log(answers ? "died" : "broke, and so did its link", device)
            }
        case .left: state.probeLeft(probe, at: now)
        }
        log("\(end)", device)
    }

    private func log(_ end: String, _ device: DeviceID) {
        let timing = state.timing(of: device, at: now)
        logger.debug(
            "a probe of a network ended",
            metadata: ["device": "\(device.short)", "how": "\(end)", "keepalive": "\(timing.keepAlive)"])
    }

    private func setIntervals() {
        for (link, interval) in state.takeChanges() { server.keepAlive(link, interval) }
        saveTimer =
            saveTimer
            ?? runLoop.schedule(
                at: runLoop.now.advanced(by: Self.savePeriod), tolerance: Self.savePeriod / 6
            ) { [weak self] in
                self?.saveTimer = nil
                self?.save()
            }
    }
}

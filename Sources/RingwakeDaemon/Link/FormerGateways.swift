internal import DeviceLink
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// The gateways that have tokens of this device and are not its own any more. Each is left once.
final class FormerGateways {
    /// What is to be left; without a gateway while this pauses.
    private struct Farewell {
        /// Names the former gateway.
        let paired: PairedGateway
        let keys: DeviceKeys
        var gateway: FormerGateway?
    }

    private var farewells: [Farewell] = []
    private let greeting: () -> DeviceSession.Greeting
    private let push: (LinkPush, Duration, @escaping (DeviceSession.Settlement) -> Void) -> Void
    private let onLeft: () -> Void
    private let earliestTime: () -> Int64
    private let runLoop: RunLoop
    private let network: NetworkWatch
    private let logger: Logger

    /// - Parameters:
    ///   - earliestTime: the wall clock (ms since 1970) is later than this.
    ///   - greeting: what the device says in CONNECT.
    ///   - push: takes a push that waited there.
    ///   - onLeft: called when one has let the device go, or is given up.
    init(
        earliestTime: @escaping () -> Int64, runLoop: RunLoop, network: NetworkWatch, logger: Logger,
        greeting: @escaping () -> DeviceSession.Greeting,
        push: @escaping (LinkPush, Duration, @escaping (DeviceSession.Settlement) -> Void) -> Void,
        onLeft: @escaping () -> Void
    ) {
        self.greeting = greeting
        self.push = push
        self.onLeft = onLeft
        self.earliestTime = earliestTime
        self.runLoop = runLoop
        self.network = network
        self.logger = logger
    }

    /// Leaves the former gateway that `paired` names, if it names one.
    func leave(_ paired: PairedGateway, keys: DeviceKeys) { begin(Farewell(paired: paired, keys: keys)) }

    private func begin(_ farewell: Farewell) {
        let (paired, keys) = (farewell.paired, farewell.keys)
        do throws(RingwakeError) {
            let gateway = try FormerGateway(
                of: paired, keys: keys, earliestTime: earliestTime(), runLoop: runLoop, network: network,
                logger: logger,
                greeting: greeting, push: push)
            guard let gateway else { return }
            gateway.onDone = { [weak self, unowned gateway] in
                self?.farewells.removeAll { $0.gateway === gateway }
                self?.onLeft()
            }
            farewells.append(Farewell(paired: paired, keys: keys, gateway: gateway))
        } catch {
            logger.error("the former gateway cannot be left", metadata: ["why": "\(error.message)"])
            farewells.append(farewell)
        }
    }

    /// Those that have not let the device go yet, as `host:port`.
    var names: [String] {
        farewells.compactMap { $0.paired.former }.map { "\(ServerReference(host: $0.host, port: $0.port))" }
    }

    /// Leaves none of them now.
    func pause() {
        for index in farewells.indices {
            farewells[index].gateway?.close()
            farewells[index].gateway = nil
        }
    }

    /// Goes on after ``pause()``. Not before a gateway that the device was paired with meanwhile knows which of its addresses
    /// the device uses: it takes no farewell for another one then.
    ///
    /// - Parameter own: the gateway that the device has now, which is not left.
    func resume(own: ServerReference?) {
        let paused = farewells.filter { $0.gateway == nil }
        farewells.removeAll { $0.gateway == nil }
        for farewell in paused {
            guard let former = farewell.paired.former, ServerReference(host: former.host, port: former.port) != own
            else { continue }
            begin(farewell)
        }
    }
}

internal import DeviceLink
internal import FoundationEssentials
internal import Glibc
internal import LinkTransport
internal import Reachability
internal import RingwakeCore
internal import RunLoop
internal import Cryptography

/// One pairing with a gateway: looks its name up, connects, shows the code, and ends with the gateway's answer.
final class PairingAttempt {
    private let gateway: PairedGateway
    private let keys: DeviceKeys
    private let runLoop: RunLoop
    private let connection: PairingClient
    private let network: NetworkWatch
    private let target: ReachabilityTarget
    private var watch: NetworkMonitor.Watch?
    private var timer: Timer?
    private var completion: ((Result<Void, RingwakeError>) -> Void)?

    /// For the look-up, the connection and the answer.
    private static let limit = Duration.seconds(30)

    /// - Parameter completion: called once, from the loop.
    /// - Throws: what is wrong with the gateway's address or the code.
    init(
        gateway: PairedGateway, code: String, name: String?, keys: DeviceKeys, earliestTime: Int64, runLoop: RunLoop,
        network: NetworkWatch, completion: @escaping (Result<Void, RingwakeError>) -> Void
    ) throws(RingwakeError) {
        guard let code = Invitations.normalized(code) else {
            throw RingwakeError(
                .invalidRequest, "'\(code)' is no code of an invitation: it has 10 or 18 digits and letters")
        }
        guard let target = ReachabilityTarget(gateway.host) else {
            throw RingwakeError(.invalidRequest, "'\(gateway.host)' is neither a name nor an address")
        }
        self.gateway = gateway
        self.keys = keys
        self.runLoop = runLoop
        self.network = network
        self.target = target
        self.completion = completion
        let sealing = keys.sealing.subjectPublicKeyInfo
        let request = UplinkMessage.PairRequest(
            code: code, name: name ?? Self.hostName(), sealing: Data(sealing).base64EncodedString(),
            signature: Data(try keys.signing.rawSignature(for: SealingKey.signedBytes(sealing))).base64EncodedString())
        connection = PairingClient(
            runLoop: runLoop, key: keys.signing, device: keys.device,
            context: try gateway.context(earliestTime), request: request,
            wallClock: { unixMilliseconds() })
    }

    private static func hostName() -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "device" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func start() {
        timer = runLoop.schedule(at: runLoop.now.advanced(by: Self.limit), tolerance: .seconds(1)) { [weak self] in
            guard let self else { return }
            timer = nil
            finish(.failure(RingwakeError(.timedOut, "the gateway \(gateway.host) did not answer in time")))
        }
        do throws(RingwakeError) {
            watch = try network.requireWatch(target) { [weak self] in self?.found($0) }
        } catch {
            finish(.failure(RingwakeError(.system, "the gateway's name cannot be looked up: \(error.message)")))
        }
    }

    private func found(_ reachability: TargetReachability) {
        guard !reachability.addresses.isEmpty, reachability.isReachable else {
            let why = reachability.unsatisfiedReason.map { ": \($0)" } ?? ""
            // A name is looked up first; only a known answer counts.
            guard reachability.unsatisfiedReason != nil else { return }
            return finish(.failure(RingwakeError(.unreachable, "the gateway \(gateway.host) cannot be reached\(why)")))
        }
        watch?.cancel()
        watch = nil
        connection.start(reachability.addresses.sockets(port: gateway.port)) { [weak self] result in
            self?.finish(result)
        }
    }

    private func finish(_ result: Result<Void, RingwakeError>) {
        watch?.cancel()
        watch = nil
        if let timer { runLoop.cancel(timer) }
        timer = nil
        connection.cancel()
        let completion = completion
        self.completion = nil
        // Not from within a call of the connection.
        runLoop.enqueue { completion?(result) }
    }
}

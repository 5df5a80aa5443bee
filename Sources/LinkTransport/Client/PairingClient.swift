package import Cryptography
package import DeviceLink
package import HTTPServer
internal import MQTT5
package import RingwakeCore
package import RunLoop

/// Introduces a device to a gateway: one connection with the purpose ``DeviceSession/Purpose/pair(_:)``.
package final class PairingClient {
    private let runLoop: RunLoop
    private let key: P256PrivateKey
    private let device: DeviceID
    private let context: TLSClientContext
    private let request: UplinkMessage.PairRequest
    private let wallClock: () -> Int64
    private var connector: LinkConnector?
    private var connection: LinkClientConnection?
    private var completion: ((Result<Void, RingwakeError>) -> Void)?

    package init(
        runLoop: RunLoop, key: P256PrivateKey, device: DeviceID, context: TLSClientContext,
        request: UplinkMessage.PairRequest, wallClock: @escaping () -> Int64
    ) {
        self.runLoop = runLoop
        self.key = key
        self.device = device
        self.context = context
        self.request = request
        self.wallClock = wallClock
    }

    /// Connects to one of the addresses, and shows the code.
    ///
    /// - Parameter completion: called once, from the loop; not after ``cancel()``. An error has the gateway's words.
    package func start(_ addresses: [SocketAddress], completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        guard connector == nil, connection == nil else { return }
        self.completion = completion
        let connector = LinkConnector(addresses: addresses, context: context, localPort: 0, runLoop: runLoop) {
            [weak self] result in
            self?.connector = nil
            switch result {
            case .success(let made): self?.begin(made.tls, made.descriptor)
            case .failure(let error):
                self?.finish(.failure(RingwakeError(.unreachable, "the gateway cannot be reached: \(error.message)")))
            }
        }
        self.connector = connector
        connector.start()
    }

    /// Gives up.
    package func cancel() {
        completion = nil
        connector?.cancel()
        connector = nil
        connection?.close()
        connection = nil
    }

    private func begin(_ tls: TLSConnection, _ descriptor: Int32) {
        let connection = LinkClientConnection(
            runLoop: runLoop, tls: tls, descriptor: descriptor, device: device, purpose: .pair(request))
        connection.onOutput = { [weak self] in self?.handle($0) }
        self.connection = connection
        do throws(RingwakeError) {
            let proof = try DeviceKey.authenticationData(of: key, on: tls, time: wallClock())
            let greeting = DeviceSession.Greeting(
                version: "", revision: 0, registrations: [], epoch: nil, network: nil, receiveMaximum: 1)
            try connection.begin(greeting, authentication: proof)
        } catch {
            finish(.failure(error))
        }
    }

    private func handle(_ output: DeviceSession.Output) {
        switch output {
        case .published(.success, _): finish(.success(()))
        case .published(let reason, let text): refused(reason, text)
        case .end(let end):
            switch end.cause {
            case .refused(let reason), .disconnected(let reason): refused(reason, end.text)
            case .broken, .left:
                finish(.failure(RingwakeError(.unreachable, end.text ?? "the gateway closed the connection")))
            }
        default: break
        }
    }

    private func refused(_ reason: MQTTReason, _ text: String?) {
        finish(
            .failure(RingwakeError(.rejectedByPeer, "the gateway refuses: \(text ?? "reason \(reason.rawValue)")")))
    }

    private func finish(_ result: Result<Void, RingwakeError>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }
}

internal import ControlProtocol
internal import RingwakeCore

/// What the app tells its server: its device tokens, and what its vendor knows the simulated device by.
struct SimulatedRegistration: Sendable {
    private var tokens: [PushEnvironment: DeviceToken] = [:]
    private var tokensMade: UInt8 = 0
    private var vendorIdentifier = makeVendorIdentifier()

    /// Whether there are no tokens.
    var isEmpty: Bool { tokens.isEmpty }

    func message(of app: AppID) -> CredentialsMessage {
        CredentialsMessage(
            app: app.rawValue, topic: Topic.voip(of: app).rawValue, teams: [SimulatedDaemon.team],
            credentials: tokens.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                CredentialsMessage.Credential(
                    environment: $0.key.rawValue, token: $0.value.hex, host: SimulatedDaemon.pushHost,
                    port: SimulatedDaemon.pushPort)
            }, vendorIdentifier: vendorIdentifier?.text)
    }

    /// Replaces the device tokens: the old ones are invalid.
    mutating func renewTokens() {
        tokensMade &+= 1
        for (index, environment) in PushEnvironment.allCases.enumerated() {
            let bytes = (0..<DeviceToken.byteCount).map { UInt8(truncatingIfNeeded: $0 &+ index &* 64) ^ tokensMade }
            tokens[environment] = DeviceToken(bytes: bytes)
        }
    }

    mutating func invalidateTokens() { tokens = [:] }

    /// Makes this another device to the app's vendor.
    mutating func resetIdentity() {
        vendorIdentifier = Self.makeVendorIdentifier()
        renewTokens()
    }

    private static func makeVendorIdentifier() -> RandomID? {
        RandomID(bytes: (0..<RandomID.byteCount).map { _ in UInt8.random(in: .min ... .max) })
    }
}

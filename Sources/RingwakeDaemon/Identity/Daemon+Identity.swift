internal import CallService
internal import ControlProtocol
internal import DaemonConfiguration
internal import Logging
internal import PushGateway
internal import RingwakeCore

// The device's identity, and what it is called towards the vendors of apps.
extension Daemon {
    /// Registers each app with its vendor. A disk that doesn't take it costs no app its calls.
    func registerVendors(of configuration: Configuration) {
        let apps = configuration.apps.values.sorted { $0.id.rawValue < $1.id.rawValue }
        do throws(RingwakeError) {
            try identity.register(apps.compactMap { app in configuration.vendor(of: app).map { (app.id, $0) } })
        } catch {
            logger.error("apps have no vendor identifier", metadata: ["why": "\(error.message)"])
        }
    }

    /// What an app's vendor knows this device by; nil while it is unknown. An app whose file is wrong keeps the one that it
    /// had.
    func vendorIdentifier(of app: AppConfiguration) -> RandomID? {
        guard let known = identity.identity else { return nil }
        return (configuration.vendor(of: app) ?? known.onlyVendor(of: app.id)).flatMap { known.id(of: app.id, by: $0) }
    }

    func identityMessage() throws(RingwakeError) -> IdentityMessage {
        let known = try identity.required()
        return IdentityMessage(
            device: known.device.text,
            machine: !identity.isMachineKnown ? "unknown" : identity.isCopied ? "other" : "same",
            vendors: known.inOrder.map { vendor, entry in
                let apps = entry.apps.map(\.rawValue).sorted()
                return switch vendor {
                case .team(let id): .init(team: id, vendorIdentifier: entry.id.text, apps: apps)
                case .prefix(let parts): .init(prefix: parts, vendorIdentifier: entry.id.text, apps: apps)
                }
            })
    }

    /// Makes this another device to all vendors: with another identity, and, unless told otherwise, with other device
    /// tokens. A vendor that has a token would know by it that this is the same device.
    func resetIdentity(keepingTokens: Bool) throws(RingwakeError) {
        try identity.reset()
        registerVendors(of: configuration)
        if !keepingTokens { try tokens.bind(to: tokens.device, at: unixMilliseconds()) }
        for app in configuration.apps.keys {
            calls.publish(EventMessage(credentialsOf: app, areValid: true), to: .app(app))
        }
        logger.notice("the device has another identity", metadata: ["tokens": keepingTokens ? "kept" : "renewed"])
    }

    /// Keeps the identity on this machine.
    func acceptIdentity() throws(RingwakeError) {
        try identity.accept()
        logger.notice("the identity is kept on this machine")
    }

    /// What is wrong with the identity; nil if nothing is.
    func identityStatus() -> StatusMessage.Identity? {
        if let problem = identity.problem { return .init(state: "unknown", why: problem) }
        guard identity.isCopied else { return nil }
        return .init(
            state: "copied",
            why: "the identity was made on another machine, which may still use it and the same device tokens; if this "
                + "is another device, run 'ringwake identity reset', if not, 'ringwake identity accept'")
    }

    func logIdentity() {
        guard let status = identityStatus() else { return }
        logger.warning("identity", metadata: ["state": "\(status.state)", "why": "\(status.why)"])
    }
}

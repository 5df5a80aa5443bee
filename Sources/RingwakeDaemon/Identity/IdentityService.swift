internal import ControlProtocol
internal import DaemonConfiguration
internal import Logging
internal import PushGateway
internal import RingwakeCore

/// The device's identity, and what it is called towards the vendors of apps: what the configuration, the tokens and the
/// readers of events have to do with it. Only this has the ``IdentityStore``.
final class IdentityService {
    private let store: IdentityStore
    private let tokens: TokenStore
    private let logger: Logger

    /// What was damaged when it was opened, for a person.
    var damage: [String] { store.damage }

    /// - Throws: `conflict` if a newer version wrote it.
    init(directory: String, tokens: TokenStore, logger: Logger) throws(RingwakeError) {
        store = try IdentityStore(directory: directory, machine: MachineID.hash())
        self.tokens = tokens
        self.logger = logger
    }

    /// Registers each app with its vendor. A disk that doesn't take it costs no app its calls.
    func register(_ configuration: Configuration) {
        let apps = configuration.apps.values.sorted { $0.id.rawValue < $1.id.rawValue }
        do throws(RingwakeError) {
            try store.register(apps.compactMap { app in configuration.vendor(of: app).map { (app.id, $0) } })
        } catch {
            logger.error("apps have no vendor identifier", metadata: ["why": "\(error.message)"])
        }
    }

    /// What an app's vendor knows this device by; nil while it is unknown. An app whose file is wrong keeps the one that it
    /// had.
    func vendorIdentifier(of app: AppConfiguration, in configuration: Configuration) -> RandomID? {
        guard let known = store.identity else { return nil }
        return (configuration.vendor(of: app) ?? known.onlyVendor(of: app.id)).flatMap { known.id(of: app.id, by: $0) }
    }

    func message() throws(RingwakeError) -> IdentityMessage {
        let known = try store.required()
        return IdentityMessage(
            device: known.device.text,
            machine: !store.isMachineKnown ? "unknown" : store.isCopied ? "other" : "same",
            vendors: known.inOrder.map { vendor, entry in
                let apps = entry.apps.map(\.rawValue).sorted()
                return switch vendor {
                case .team(let id): .init(team: id, vendorIdentifier: entry.id.text, apps: apps)
                case .prefix(let parts): .init(prefix: parts, vendorIdentifier: entry.id.text, apps: apps)
                }
            })
    }

    /// Forgets an app that was removed.
    ///
    /// - Throws: `system` if the file can't be written, or if the identity is unknown. Nothing has changed then.
    func remove(_ app: AppID) throws(RingwakeError) { try store.remove(app) }

    /// Makes this another device to all vendors: with another identity, and, unless told otherwise, with other device
    /// tokens. A vendor that has a token would know by it that this is the same device. The caller reports the apps' new
    /// credentials.
    func reset(_ configuration: Configuration, keepingTokens: Bool) throws(RingwakeError) {
        try store.reset()
        register(configuration)
        if !keepingTokens { try tokens.bind(to: tokens.device, at: unixMilliseconds()) }
        logger.notice("the device has another identity", metadata: ["tokens": keepingTokens ? "kept" : "renewed"])
    }

    /// Keeps the identity on this machine.
    func accept() throws(RingwakeError) {
        try store.accept()
        logger.notice("the identity is kept on this machine")
    }

    /// What is wrong with the identity; nil if nothing is.
    func status() -> StatusMessage.Identity? {
        if let problem = store.problem { return .init(state: "unknown", why: problem) }
        guard store.isCopied else { return nil }
        return .init(
            state: "copied",
            why: "the identity was made on another machine, which may still use it and the same device tokens; if this "
                + "is another device, run 'ringwake identity reset', if not, 'ringwake identity accept'")
    }

    func logStatus() {
        guard let status = status() else { return }
        logger.warning("identity", metadata: ["state": "\(status.state)", "why": "\(status.why)"])
    }
}

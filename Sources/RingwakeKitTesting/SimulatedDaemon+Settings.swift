internal import CallService
internal import ControlProtocol
internal import RingwakeCore
public import RingwakeKit

extension SimulatedDaemon {
    /// The configuration of app and daemon. The durations are a daemon's defaults.
    public struct Settings: Sendable {
        /// The layout of the app's payloads, as in its section `[payload]`.
        public enum Preset: String, Sendable, CaseIterable {
            case flexisip
            case ringwake
            case sygnal
            case twilio
        }

        /// The highest content rating of apps on the device.
        public enum Rating: String, Sendable, CaseIterable {
            case four = "4+"
            case nine = "9+"
            case twelve = "12+"
            case seventeen = "17+"
        }

        /// What happens to a call that arrives while another is in progress.
        public enum WhenBusy: String, Sendable {
            /// It rings as a waiting call.
            case ring
            /// It is refused: the app gets the action `end` when it reports the call.
            case reject
        }

        /// Time from the push to the report, and from the report to the ring.
        public var report = Duration.seconds(5)
        /// How long a call rings.
        public var ring = Duration.seconds(45)
        /// Time to fulfil or fail an action.
        public var action = Duration.seconds(10)
        /// How long a call may last.
        public var connected = Duration.seconds(4 * 3600)
        /// How long a call outlives the process that had it.
        public var claim = Duration.seconds(5)
        public var whenBusy = WhenBusy.ring
        /// What happens to the other calls when one is answered.
        public var others = RingwakeKit.OtherCalls.hold
        /// The layout of the payloads; nil: they are ignored.
        public var preset: Preset?
        /// Whether clients run as the daemon's user. If not, all but started handlers are refused.
        public var isOwner = true
        /// Whether the app may store state with the daemon: `state = true` in its section `[restoration]`.
        public var keepsState = true
        /// Maximum of the app's calls within a time, as `30/1h`; nil: none.
        public var appLimit: String?
        /// The same for one caller.
        public var callerLimit: String?
        /// The highest content rating of apps; nil: any.
        public var rating: Rating?
        /// Whether apps may show explicit content, and offer calls with video.
        public var allowsExplicitContent = true
        public var allowsVideoCalls = true

        public init() {}

        var policy: AppPolicy {
            var policy = AppPolicy(
                deadlines: CallDeadlines(report: report, ring: ring, action: action, connected: connected, claim: claim)
            )
            policy.whenBusy = whenBusy == .reject ? .reject : .ring
            policy.others = others == .end ? .end : .hold
            return policy
        }

        var mapping: PayloadMapping? { preset.flatMap { PayloadMapping.preset($0.rawValue) } }

        /// The service's configuration, with one app.
        func configuration(of app: AppID) -> ServiceConfiguration {
            let limits = CallLimits(
                app: appLimit.flatMap { CallLimit($0) }, caller: callerLimit.flatMap { CallLimit($0) })
            return ServiceConfiguration(
                apps: [app: .init(policy: policy, limits: limits, keepsState: keepsState)],
                allowedLevel: rating.flatMap { ContentRating(rawValue: $0.rawValue)?.level },
                content: ContentRestrictions(
                    allowsExplicitContent: allowsExplicitContent, allowsVideoCalls: allowsVideoCalls),
                socketPath: SimulatedDaemon.socketPath)
        }
    }

    /// Switches do not disturb on or off, for calls that are reported from now on.
    public func setDoNotDisturb(_ isOn: Bool) {
        var change = DoNotDisturbChange.none
        change.state = isOn ? "on" : "off"
        let body = controlJSON(change)
        with { _ = $0.user("PUT", "/v1/dnd", body) }
    }

    /// Changes the settings while the daemon runs, as a reload does.
    public func reconfigure(_ change: @Sendable (inout Settings) -> Void) {
        with { $0.reconfigure(change) }
    }

    /// Puts a caller, or all callers of a pattern, on a block list.
    ///
    /// - Throws: `invalidRequest`: the pattern is invalid.
    public func block(_ pattern: String, label: String? = nil) throws(RingwakeKitError) {
        let parsed: CallerPattern
        do throws(RingwakeError) {
            parsed = try CallerPattern(pattern)
        } catch {
            throw RingwakeKitError(.invalidRequest, error.message)
        }
        with { $0.block(parsed, label: label) }
    }

    /// Begins the first cellular call of the device, for which calls are held, or ends the last one.
    public func setCellularCall(_ isActive: Bool) {
        with { $0.setCellularCall(isActive) }
    }

    /// The device is in these cellular networks, one for each modem: what apps get as `TelephonyNetworkInfo`.
    public func setCellularNetworks(_ networks: [CellularNetwork]) {
        let modems = networks.map { network in
            TelephonyMessage.Modem(
                id: network.id, operatorName: network.operatorName, mobileCountryCode: network.mobileCountryCode,
                mobileNetworkCode: network.mobileNetworkCode, registration: network.registration.rawValue,
                roaming: network.isRoaming, radioAccessTechnology: network.radioAccessTechnology?.rawValue)
        }
        with { $0.setNetworks(modems) }
    }

    /// The device and its gateway disagree, or have settled it: what the daemon says before and after a reset of its link.
    /// Nothing else of the simulated daemon changes; for new credentials, see ``renewCredentials()``.
    public func resetLink(
        _ code: LinkReset.Code, _ action: LinkReset.Action = .recover, stage: LinkReset.Stage,
        gateway: String = "push.example.com:8883"
    ) {
        let reset = LinkMessage.Reset(
            code: code.rawValue, why: "simulated", mode: action.rawValue, result: stage.rawValue,
            at: "2026-01-07T12:00:00.000Z", copies: nil)
        with { $0.publish(.linkReset(.init(gateway: gateway, device: nil, reset: reset))) }
    }

    /// Locks the device: protected data can't be read any more when the clock has moved on by `grace`.
    public func lockDevice(grace: Duration = .seconds(10)) {
        with { $0.lock(after: grace) }
    }

    /// Unlocks the device.
    public func unlockDevice() {
        with { $0.unlock() }
    }

    /// Changes the network: calls that ring or are in progress get the new path.
    ///
    /// - Parameters:
    ///   - interface: the name of the interface in use; nil: no network.
    ///   - type: what carries it.
    ///   - source: the address that traffic is sent from.
    public func changeNetwork(
        interface: String?, type: CallPath.InterfaceType = .wifi, source: String = "192.0.2.2"
    ) {
        var path = PathMessage(
            status: interface == nil ? "unsatisfied" : "satisfied", reason: nil,
            interfaces: interface.map { [PathMessage.Interface(name: $0, type: type.rawValue, index: 2)] } ?? [])
        if interface != nil { path.sources = [source] }
        path.isExpensive = type == .cellular
        path.supportsIPv4 = !source.contains(":")
        path.supportsIPv6 = source.contains(":")
        path.supportsDNS = interface != nil
        with { [path] in $0.setPath(path) }
    }

    // MARK: - Credentials

    /// Renews the device tokens, as removing and adding the app does: the old ones are invalid.
    public func renewCredentials() {
        with { $0.register { $0.renewTokens() } }
    }

    /// Makes this another device to the app's vendor, as `ringwake identity reset` does: another
    /// `vendorIdentifier`, and other tokens.
    public func resetIdentity() {
        with { $0.register { $0.resetIdentity() } }
    }

    /// Invalidates the tokens, without new ones.
    public func invalidateCredentials() {
        with { $0.register { $0.invalidateTokens() } }
    }
}

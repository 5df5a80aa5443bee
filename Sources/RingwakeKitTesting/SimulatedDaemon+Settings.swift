internal import ControlProtocol
internal import RingwakeCore
public import RingwakeKit

extension SimulatedDaemon {
    /// What the app's file and `ringwaked.toml` would say. The lengths are those of a daemon that nobody configured.
    public struct Settings: Sendable {
        /// The app's section `[payload]`: how its payloads are read.
        public enum Preset: String, Sendable, CaseIterable {
            case flexisip
            case ringwake
            case sygnal
            case twilio
        }

        /// What becomes of a call that comes while another goes on.
        public enum WhenBusy: String, Sendable {
            /// It rings as a waiting call.
            case ring
            /// The app is asked to end it when it reports it.
            case reject
        }

        /// Time from the push to the report, and from the report to the ring.
        public var report = Duration.seconds(5)
        /// How long a call rings.
        public var ring = Duration.seconds(45)
        /// Time from an action to its being fulfilled or failed.
        public var action = Duration.seconds(10)
        /// How long a call may last.
        public var connected = Duration.seconds(4 * 3600)
        /// How long a call outlives the process that had it.
        public var claim = Duration.seconds(5)
        public var whenBusy = WhenBusy.ring
        /// What becomes of the calls that go on when another is answered.
        public var others = RingwakeKit.OtherCalls.hold
        /// How payloads are read; nil: they say nothing.
        public var preset: Preset?
        /// Whether clients run as the daemon's user. Else all but started handlers are refused, as the daemon does.
        public var isOwner = true
        /// How many calls of the app may come within a time, as `30/1h`; nil: any.
        public var appLimit: String?
        /// The same of one caller.
        public var callerLimit: String?

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

        var limits: CallLimits {
            CallLimits(app: appLimit.flatMap { CallLimit($0) }, caller: callerLimit.flatMap { CallLimit($0) })
        }
    }

    /// Switches do not disturb on or off: calls that are reported from now on are kept out, or are not.
    public func setDoNotDisturb(_ isOn: Bool) {
        with { state in
            let moment = state.moment
            if isOn { state.rules.doNotDisturb.turnOn() } else { state.rules.doNotDisturb.turnOff(at: moment) }
        }
    }

    /// Puts a caller, or all that a pattern means, on a block list.
    ///
    /// - Throws: `invalidRequest`: a pattern that is none.
    public func block(_ pattern: String, label: String? = nil) throws(RingwakeKitError) {
        let parsed: CallerPattern
        do throws(RingwakeError) {
            parsed = try CallerPattern(pattern)
        } catch {
            throw RingwakeKitError(.invalidRequest, error.message)
        }
        with { state in
            state.lists.byName["simulated", default: CallerLists.List(kind: .block)].entries[parsed] = .some(label)
        }
    }

    /// The first cellular call of the device begins, or the last one ends: calls are held for it.
    public func setCellularCall(_ isActive: Bool) {
        with { $0.changeCellular(isActive) }
    }

    /// The network is another: calls that ring or go on are told the new way.
    ///
    /// - Parameters:
    ///   - interface: the name of the interface in use; nil: there is no network.
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
        with { [path] in $0.changeNetwork(path) }
    }

    // MARK: - Credentials

    /// New device tokens, as after `ringwake app remove` and adding it again: the old ones are of no use any more.
    public func renewCredentials() {
        with { state in
            state.renewTokens()
            state.tellCredentials()
        }
    }

    /// The tokens are of no use any more, and there are no others.
    public func invalidateCredentials() {
        with { state in
            state.tokens = [:]
            state.tellCredentials()
        }
    }
}

package import DeviceLink
package import HTTPServer
package import Logging
internal import ProviderAPI
package import RingwakeCore
package import RunLoop

/// Implements APNs' provider API: receives pushes, verifies them and delivers the valid ones.
///
///     let gateway = PushGateway(
///         configuration: teams, tokens: store, wallClock: clock, logger: logger, isConfigured: { apps[$0] != nil },
///         deliver: { push, answer in coordinator.take(push, then: answer) })
///     let listener = try HTTP2TLSListener(
///         ..., makeHandler: { gateway.makeConnectionHandler(peer: $0, environment: .production) })
///
/// Another push protocol (Web Push) would be another connection handler with its own `make...` function here. It would
/// share the token store, the counters and ``Deliver``.
package final class PushGateway {
    /// Accepts a push and answers once, at once or later. The sender may have left by then.
    package typealias Deliver = (VerifiedPush, @escaping (DeliveryOutcome) -> Void) -> Void

    /// 2025-01-01T00:00:00Z in ms since 1970. This software didn't exist earlier. If a machine shows an earlier time,
    /// dates can't be checked (a board without a battery-backed clock, before NTP has answered).
    package nonisolated static let earliestPlausibleTime: Int64 = 1_735_689_600_000

    /// Maximum bytes of any push's payload, which is that of a VoIP push. Listeners keep no more of a body.
    package nonisolated static let maximumPayloadBytes = 5120

    /// The device tokens.
    package let tokens: TokenStore
    /// Number of pushes by result.
    package internal(set) var counters = GatewayCounters()

    /// The newest refusals.
    package internal(set) var refusals = RefusalLog()
    /// Faults for tests of senders.
    package var faults = PushFaults()
    /// Whose token has this SHA-256 (in hex), of linked devices; nil if none's.
    package var linked: (String) -> DeviceDirectory.Owner? = { _ in nil }
    /// Finds what became of a push: JSON, or nil if nobody knows. Answers once, at once or later.
    package var receipt: (ReceiptRequest, @escaping ([UInt8]?) -> Void) -> Void = { $1(nil) }
    private var failureWarnings = LogThrottle<FailedConnection.Reason>(period: PushGateway.failureWarningPeriod)
    private var refusedStrangers = LogThrottle<RefusedStranger>()

    /// The least time between two warnings about connections that failed for the same reason.
    nonisolated static let failureWarningPeriod = Duration.seconds(600)

    private nonisolated struct RefusedStranger: Hashable {
        let reason: RejectionReason
        let network: PeerNetwork
    }

    private(set) var configuration: GatewayConfiguration
    /// Number of ``reconfigure(_:)`` calls. A connection discards its verdicts when it changes.
    private(set) var generation: UInt64 = 0

    let logger: Logger
    let wallClock: () -> Int64
    let bootClock: () -> BootClock.Instant
    let earliestTime: () -> Int64
    let isConfigured: (AppID) -> Bool
    let deliver: Deliver
    /// Calls the function after this time.
    let schedule: (Duration, @escaping () -> Void) -> Void
    let watch: RequestWatch?

    /// - Parameters:
    ///   - configuration: the teams.
    ///   - tokens: the device tokens.
    ///   - wallClock: the time in ms since 1970.
    ///   - bootClock: the clock of deadlines.
    ///   - earliestTime: while the wall clock is before this (ms since 1970), every push is answered with
    ///     ServiceUnavailable, because certificates, tokens and expirations can't be checked.
    ///   - schedule: calls a function after a time, for ``PushFault/Kind/delay(_:)``.
    ///   - watch: who watches the requests.
    package init(
        configuration: GatewayConfiguration, tokens: TokenStore, wallClock: @escaping () -> Int64,
        bootClock: @escaping () -> BootClock.Instant = { BootClock.now() },
        logger: Logger, earliestTime: @escaping () -> Int64 = { PushGateway.earliestPlausibleTime },
        isConfigured: @escaping (AppID) -> Bool, schedule: @escaping (Duration, @escaping () -> Void) -> Void,
        watch: RequestWatch? = nil, deliver: @escaping Deliver
    ) {
        self.configuration = configuration
        self.tokens = tokens
        self.wallClock = wallClock
        self.bootClock = bootClock
        self.earliestTime = earliestTime
        self.logger = logger
        self.isConfigured = isConfigured
        self.deliver = deliver
        self.schedule = schedule
        self.watch = watch
    }

    /// The handler of one sender's connection to the listener of `environment`.
    package func makeConnectionHandler(
        peer: PeerInfo, environment: PushEnvironment
    ) -> any HTTPConnectionHandler {
        ProviderConnection(gateway: self, peer: peer, environment: environment)
    }

    /// Records a connection that ended before its first request.
    package func connectionFailed(_ failure: FailedConnection, environment: PushEnvironment) {
        counters.countFailedConnection(failure.reason.rawValue)
        if let since = failureWarnings.note(failure.reason, at: bootClock()) {
            logger.warning(
                "a sender's connection failed before a push",
                metadata: [
                    "peer": "\(failure.peer)", "environment": "\(environment.rawValue)",
                    "reason": "\(failure.reason.rawValue)", "cause": "\(failure.reason.explanation)",
                    "others-before": "\(since)",
                ])
        }
        refusals.add(
            RefusedAttempt(
                at: wallClock(), pushID: nil, peer: failure.peer, environment: environment, team: nil,
                reason: failure.reason.rawValue, cause: "\(failure.reason.explanation) (\(failure.detail))"))
    }

    /// How many refusals of this stranger were not logged before this one; nil if this one is not to be logged either.
    func noteRefusedStranger(_ reason: RejectionReason, _ network: PeerNetwork) -> UInt64? {
        refusedStrangers.note(RefusedStranger(reason: reason, network: network), at: bootClock())
    }

    /// Applies other teams. Connections stay open; each verifies its sender again at the next push.
    package func reconfigure(_ configuration: GatewayConfiguration) {
        self.configuration = configuration
        generation += 1
    }
}

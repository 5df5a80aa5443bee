package import HTTPServer
package import Logging
package import RingwakeCore
package import RunLoop

/// Speaks APNs' provider API: takes pushes from senders, checks all there is to check, and delivers what passed.
///
///     let gateway = PushGateway(
///         configuration: teams, tokens: store, wallClock: clock, logger: logger, isConfigured: { apps[$0] != nil },
///         deliver: { push, answer in coordinator.take(push, then: answer) })
///     let listener = try HTTP2TLSListener(..., makeHandler: { gateway.makeConnectionHandler(peer: $0, environment: .production) })
///
/// A protocol beside APNs (Web Push) is another connection handler with its own `make...` function here; it shares
/// the tokens' store, the counters and ``Deliver``.
package final class PushGateway {
    /// Takes a push over and answers once, at once or later; the sender may be gone by then.
    package typealias Deliver = (VerifiedPush, @escaping (DeliveryOutcome) -> Void) -> Void

    /// 2025-01-01T00:00:00Z in ms since 1970. No machine that runs this software can have an earlier time, so one
    /// that shows it cannot judge dates (a board without a battery for its clock, before the first NTP answer).
    package nonisolated static let earliestPlausibleTime: Int64 = 1_735_689_600_000

    /// The most bytes of any push's payload, those of a VoIP push; a listener keeps no more of a body.
    package nonisolated static let maximumPayloadBytes = 5120

    /// The tokens that pushes can be addressed to.
    package let tokens: TokenStore
    /// What became of the pushes.
    package internal(set) var counters = GatewayCounters()
    /// Every push is answered Shutdown from now on.
    package private(set) var isShuttingDown = false

    private(set) var configuration: GatewayConfiguration
    /// Counts ``reconfigure(_:)``: what a connection concluded from an older configuration is void.
    private(set) var generation: UInt64 = 0

    let logger: Logger
    let wallClock: () -> Int64
    let bootClock: () -> BootClock.Instant
    let earliestTime: () -> Int64
    let isConfigured: (AppID) -> Bool
    let deliver: Deliver

    /// - Parameters:
    ///   - configuration: the teams.
    ///   - tokens: the device tokens.
    ///   - wallClock: the time in ms since 1970.
    ///   - bootClock: the clock of deadlines.
    ///   - earliestTime: while the wall clock is before this (ms since 1970) every push is answered
    ///     ServiceUnavailable, for neither certificates nor tokens nor expirations can be judged then.
    ///   - logger: gets a line for each refusal, under its apns-id.
    ///   - isConfigured: whether an app is there now; a push to a good token of one that is not is answered
    ///     ServiceUnavailable, which makes senders wait instead of forgetting the token.
    ///   - deliver: the next stage.
    package init(
        configuration: GatewayConfiguration, tokens: TokenStore, wallClock: @escaping () -> Int64,
        bootClock: @escaping () -> BootClock.Instant = { BootClock.now() },
        logger: Logger, earliestTime: @escaping () -> Int64 = { PushGateway.earliestPlausibleTime },
        isConfigured: @escaping (AppID) -> Bool, deliver: @escaping Deliver
    ) {
        self.configuration = configuration
        self.tokens = tokens
        self.wallClock = wallClock
        self.bootClock = bootClock
        self.earliestTime = earliestTime
        self.logger = logger
        self.isConfigured = isConfigured
        self.deliver = deliver
    }

    /// The handler of one sender's connection to the listener of `environment`.
    package func makeConnectionHandler(
        peer: PeerInfo, environment: PushEnvironment
    ) -> any HTTPConnectionHandler {
        ProviderConnection(gateway: self, peer: peer, environment: environment)
    }

    /// Puts other teams in force. Connections stay open; each judges its sender anew at its next push.
    package func reconfigure(_ configuration: GatewayConfiguration) {
        self.configuration = configuration
        generation += 1
    }

    /// Answers Shutdown to every further push; those that were delivered already are still answered.
    package func beginShutdown() {
        isShuttingDown = true
    }
}

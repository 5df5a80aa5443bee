internal import DaemonConfiguration
internal import DeviceLink
internal import Logging
internal import MQTT5
internal import PushGateway
internal import RingwakeCore
internal import RunLoop

/// Keeps the gateway's registrations of this device as the device has them, and brings the two together when they
/// disagree. It publishes one message at a time: registrations, a comparison, or receipts.
final class LinkSynchronizer {
    private enum Outstanding {
        case registrations(UInt64)
        case comparison
        case receipts
    }

    private struct Disagreement {
        let why: LinkDisagreement
        let text: String
        let mode: LinkResetMode
    }

    /// Publishes a message. False: there is no link.
    var publish: (UplinkMessage) -> Bool = { _ in false }
    /// Called when the device's tokens have changed by a reset.
    var onReset: () -> Void = {}
    /// Called when the gateway has this device's registrations.
    var onRegistered: () -> Void = {}
    /// Called with the gateway's store, once the two agree.
    var onAgreed: (String) -> Void = { _ in }

    /// Called with the reason when a gateway that is only visited disagrees.
    var onUseless: (String) -> Void = { _ in }

    let resets: ClientResets
    /// This device's key for sealed payloads, in base64.
    var sealing: String?
    /// Why the gateway doesn't take the registrations; nil if it does.
    private var refusal: String?
    /// The revision that the gateway has.
    private(set) var acknowledgedRevision: UInt64?

    private let tokens: TokenStore
    private let receipts: ReceiptSender
    private let configuredMode: LinkResetMode
    private let runLoop: RunLoop
    private let logger: Logger
    private var outstanding: Outstanding?
    /// The disagreement that is being settled, or that waits for a person.
    private var disagreement: Disagreement?
    /// Until registrations are sent again that the gateway could not take.
    private var retryTimer: Timer?
    private static let retryTime = Duration.seconds(60)
    /// Whether refused registrations were compared on this link: once is enough.
    private var hasComparedRefused = false
    private var epoch: String?
    private var run: UInt64?
    private var allowsRecovery = true
    /// Whether the gateway is not the device's own: then nothing is settled with it that changes the device's tokens.
    var isVisit = false

    init(
        tokens: TokenStore, receipts: ReceiptSender, resets: ClientResets, settings: LinkSettings, runLoop: RunLoop,
        logger: Logger
    ) {
        self.tokens = tokens
        self.receipts = receipts
        self.resets = resets
        configuredMode = LinkResetMode(rawValue: settings.onDisagreement.rawValue) ?? .manual
        self.runLoop = runLoop
        self.logger = logger
        receipts.send = { [weak self] in self?.send($0) ?? false }
    }

    // MARK: - The link

    /// The gateway has accepted the device.
    ///
    /// - Parameters:
    ///   - known: the gateway's store at the last link; nil at the first.
    ///   - isVisit: whether it is not the device's own.
    func welcomed(_ welcome: LinkWelcome, known: String?, isVisit: Bool) {
        self.isVisit = isVisit
        acknowledgedRevision = welcome.revision
        epoch = welcome.epoch
        allowsRecovery = welcome.allowsRecovery
        (hasComparedRefused, sentRevision, refusal) = (false, nil, nil)
        if run != welcome.run { receipts.tellAll() }
        run = welcome.run
        if let known, known != welcome.epoch {
            disagree(.otherStore, "the gateway has another store than before")
        } else if let revision = welcome.revision, revision > tokens.revision {
            disagree(.gatewayAhead, "the gateway has revision \(revision), this device \(tokens.revision)")
        } else {
            disagreement = nil
            onAgreed(welcome.epoch)
        }
    }

    /// Messages can be published.
    func linked() {
        outstanding = nil
        goOn()
    }

    /// The link has gone.
    func unlinked() {
        outstanding = nil
        receipts.linkIsGone()
    }

    /// The tokens have changed. After the turn: an app may get several at once.
    func tokensChanged() {
        runLoop.enqueue { [weak self] in self?.goOn() }
    }

    /// The gateway has taken the message that is outstanding, or has refused it.
    func published(_ reason: MQTTReason, _ text: String?) {
        let sent = outstanding
        outstanding = nil
        switch sent {
        case .registrations(let revision): registered(revision, reason, text)
        case .receipts:
            if reason != .success {
                logger.warning("the gateway refuses receipts", metadata: ["why": "\(text ?? "\(reason.rawValue)")"])
            }
            receipts.published()
        case .comparison where reason != .success:
            // A gateway that can't compare: its version is older.
            logger.error("the gateway compares no registrations", metadata: ["why": "\(text ?? "\(reason.rawValue)")"])
            disagreement = nil
        case .comparison, nil: break
        }
        goOn()
    }

    /// Publishes what is due next.
    private func goOn() {
        guard outstanding == nil else { return }
        if let open = disagreement {
            if open.mode != .manual || open.why == .refused { compare() }
        } else if acknowledgedRevision != tokens.revision, refusal == nil || sentRevision != tokens.revision {
            sentRevision = tokens.revision
            var set = tokens.registrations
            set.sealing = sealing
            if publish(.registrations(set)) { outstanding = .registrations(tokens.revision) }
        }
        if outstanding == nil, disagreement == nil, acknowledgedRevision == tokens.revision { onRegistered() }
        if outstanding == nil { receipts.linkIsReady() }
    }

    /// The revision that was sent last: what was refused isn't sent again until it changes, or the link is a new one.
    private var sentRevision: UInt64?

    private func send(_ some: [LinkReceipt]) -> Bool {
        guard outstanding == nil, publish(.receipts(some)) else { return false }
        outstanding = .receipts
        return true
    }

    private func registered(_ sent: UInt64, _ reason: MQTTReason, _ text: String?) {
        guard reason == .success else {
            let why = text ?? "reason \(reason.rawValue)"
            refusal = why
            logger.error("the gateway refuses the registrations", metadata: ["why": "\(why)"])
            // It is busy, or its disk is full: nothing is wrong with them.
            guard reason != .quotaExceeded, reason != .implementationSpecificError else { return sendAgainLater() }
            guard !isVisit else { return onUseless(why) }
            guard !hasComparedRefused else { return }
            // A token may have ended there: a comparison shows it.
            hasComparedRefused = true
            disagreement = Disagreement(why: .refused, text: why, mode: mode)
            return
        }
        refusal = text
        if let text { logger.warning("the gateway has taken the registrations, but", metadata: ["why": "\(text)"]) }
        acknowledgedRevision = sent
    }

    private func sendAgainLater() {
        guard retryTimer == nil else { return }
        retryTimer = runLoop.schedule(
            at: runLoop.now.advanced(by: Self.retryTime), tolerance: Self.retryTime / 4, wakingFromSuspend: false
        ) { [weak self] in
            self?.retryTimer = nil
            self?.sentRevision = nil
            self?.goOn()
        }
    }

    // MARK: - Disagreements

    /// What is done about a disagreement: the configured mode, unless the gateway forbids to recover.
    private var mode: LinkResetMode {
        allowsRecovery || configuredMode == .discard ? configuredMode : .manual
    }

    /// What a person has to do; nil: nothing.
    var problem: String? {
        guard let open = disagreement, isWaiting else { return refusal }
        return "registrations differ here and at the gateway (\(open.text)), and nothing is changed until somebody "
            + "runs 'ringwake link reset --now'"
    }

    /// Whether a person has to decide.
    private var isWaiting: Bool { disagreement?.mode == .manual && resets.last?.result == ClientResets.Report.waiting }

    /// The last disagreement. One that waited for a person may be over without one.
    var lastReset: ClientResets.Report? {
        disagreement == nil && resets.last?.result == ClientResets.Report.waiting ? nil : resets.last
    }

    private func disagree(_ why: LinkDisagreement, _ text: String) {
        guard !isVisit else {
            disagreement = nil
            return onUseless(text)
        }
        disagreement = Disagreement(why: why, text: text, mode: mode)
        if mode == .manual { resets.wait(why, text, mode) }
    }

    /// Settles a disagreement that waits for a person.
    ///
    /// - Parameter chosen: nil: what is only here is kept, if the gateway allows it.
    /// - Throws: `conflict` if there is none; `notPermitted` if the gateway forbids the mode.
    func reset(_ chosen: LinkResetMode?) throws(RingwakeError) {
        guard let open = disagreement else {
            throw RingwakeError(.conflict, "this device and its gateway agree; there is nothing to reset")
        }
        let mode = chosen ?? (allowsRecovery ? .recover : .discard)
        guard mode != .manual else {
            throw RingwakeError(.invalidRequest, "'manual' is what it waits in; choose recover or discard")
        }
        guard allowsRecovery || mode == .discard else {
            throw RingwakeError(
                .notPermitted, "the gateway forbids to recover; use --mode discard, or ask its operator")
        }
        disagreement = Disagreement(why: open.why, text: open.text, mode: mode)
        goOn()
    }

    private func compare() {
        if publish(.compare(tokens: tokens.registrations.registrations.map(\.token))) { outstanding = .comparison }
    }

    /// The gateway's registrations have come.
    func compared(with gateway: GatewayRegistrations, apps: Set<AppID>) {
        guard let open = disagreement, case .comparison = outstanding else { return }
        let refusedAgain = open.why == .refused && refusal != nil
        let plan = LinkResetPlan(local: tokens.registrations, gateway: gateway, apps: apps, mode: open.mode)
        if refusedAgain, plan.adopted.isEmpty, plan.expired.isEmpty {
            // It is refused for another reason, such as a topic that no team there may send to.
            disagreement = nil
            return
        }
        if open.mode == .manual {
            resets.wait(open.why, open.text, open.mode)
            return
        }
        do throws(RingwakeError) {
            try resets.run(open.why, open.text, open.mode, plan, gateway)
            disagreement = nil
            refusal = nil
            acknowledgedRevision = gateway.revision
            if let epoch { onAgreed(epoch) }
            onReset()
        } catch {
            disagreement = nil
            logger.error(
                "a client reset failed; it is tried again at the next link", metadata: ["why": "\(error.message)"])
        }
    }
}

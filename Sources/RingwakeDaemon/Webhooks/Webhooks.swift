internal import ControlProtocol
internal import Cryptography
internal import HTTPServer
internal import Logging
internal import PushClient
internal import PushGateway
internal import RingwakeCore
internal import RunLoop

/// Posts the receipts of teams' pushes to their webhooks. Each team has a queue and a request of its own, so that nobody
/// waits for another's server; libcurl works on a thread of its own, which runs while there is a webhook.
final class Webhooks {
    private struct Hook {
        var webhook: Webhook
        var queue = WebhookQueue<PushName>()
        /// The request that is on its way.
        var request: UInt64?
    }

    private let runLoop: RunLoop
    private let receipts: PushReceipts
    private let logger: Logger
    private var hooks: [String: Hook] = [:]
    private var poster: (poster: Poster, source: ReadinessSource)?
    /// The teams whose requests are on their way.
    private var requests: [UInt64: String] = [:]
    private var lastRequest: UInt64 = 0
    private var timer: (timer: Timer, deadline: BootInstant)?
    private var failures = LogThrottle<String>(period: Webhooks.logPeriod)
    private var drops = LogThrottle<String>(period: Webhooks.logPeriod)

    /// The least time between two lines about one team's failures, or about what was dropped of it.
    private static let logPeriod = Duration.seconds(600)
    private static let tolerance = Duration.milliseconds(100)
    private static let cause = WakeupCause("webhook")

    init(receipts: PushReceipts, runLoop: RunLoop, logger: Logger) {
        self.receipts = receipts
        self.runLoop = runLoop
        self.logger = logger
    }

    private var now: BootInstant { BootInstant(nanoseconds: BootClock.now().nanoseconds) }

    /// Applies other teams. What waits for a webhook stays; one that had ended begins again.
    func reconfigure(_ teams: GatewayConfiguration) {
        var kept: [String: Hook] = [:]
        for (id, team) in teams.teams {
            guard let webhook = team.webhook else { continue }
            var hook = hooks[id] ?? Hook(webhook: webhook)
            hook.webhook = webhook
            hook.queue.restart(at: now)
            kept[id] = hook
        }
        hooks = kept
        for team in hooks.keys { advance(team) }
        scheduleNext()
        if hooks.isEmpty { close() } else { open() }
    }

    /// Whether a team has a webhook.
    func isOn(for team: String) -> Bool { hooks[team] != nil }

    var isOff: Bool { hooks.isEmpty }

    /// Something is new about a push.
    func note(_ name: PushName) {
        guard hooks[name.sender] != nil else { return }
        change(name.sender) { $0.add(name, at: $1) }
    }

    /// Ends the thread. What waits is forgotten; a start tells it again.
    func close() {
        guard let poster else { return }
        poster.source.cancel()
        poster.poster.close()
        self.poster = nil
        requests = [:]
    }

    var status: [WebhookStatusMessage] {
        hooks.sorted { $0.key < $1.key }.map { team, hook in
            let retry = hook.queue.problem == nil ? nil : hook.queue.nextDeadline
            return WebhookStatusMessage(
                team: team, url: hook.webhook.url.text, waiting: hook.queue.waiting, delivered: hook.queue.delivered,
                failed: hook.queue.failed, dropped: hook.queue.dropped, problem: hook.queue.problem,
                retryInMs: retry.map { max(0, now.duration(to: $0).milliseconds) })
        }
    }

    // MARK: - The thread

    private func open() {
        guard poster == nil else { return }
        do throws(RingwakeError) {
            let new = try Poster(userAgent: "ringwaked/\(ProductVersion.current)")
            do throws(RunLoopError) {
                let source = try runLoop.watch(new.descriptor, for: .read, cause: Self.cause) { [weak self] _ in
                    self?.takeResults()
                }
                poster = (new, source)
            } catch {
                new.close()
                throw RingwakeError(.system, "\(error)")
            }
        } catch {
            logger.error("receipts can't be posted to webhooks", metadata: ["why": "\(error.message)"])
        }
    }

    private func takeResults() {
        for (id, result) in poster?.poster.takeResults() ?? [] {
            // The team may have lost its webhook meanwhile, and got another.
            guard let team = requests.removeValue(forKey: id), hooks[team]?.request == id else { continue }
            finished(team, outcome(result))
        }
    }

    private func outcome(_ result: Poster.Result) -> WebhookQueue<PushName>.Outcome {
        switch result {
        case .answered(status: 200..<300, _): .delivered
        case .answered(status: 410, _): .gone
        case .answered(let status, let retryAfter):
            .failed("its server answered \(status)", retryAfter: retryAfter.map { .seconds(min(max($0, 0), 86_400)) })
        case .failed(let why): .failed(why, retryAfter: nil)
        }
    }

    // MARK: - A team's queue

    /// Changes a team's queue, and does what is due then.
    private func change(_ team: String, _ body: (inout WebhookQueue<PushName>, BootInstant) -> Void) {
        guard var hook = hooks.removeValue(forKey: team) else { return }
        let dropped = hook.queue.dropped
        body(&hook.queue, now)
        let lost = hook.queue.dropped - dropped
        hooks[team] = hook
        if lost > 0, let before = drops.note(team, at: runLoop.now) {
            logger.warning(
                "receipts for a webhook are dropped",
                metadata: [
                    "team": "\(team)", "receipts": "\(lost)", "dropped-since-start": "\(hook.queue.dropped)",
                    "others-before": "\(before)",
                ])
        }
        advance(team)
        scheduleNext()
    }

    private func advance(_ team: String) {
        guard let step = hooks[team]?.queue.next(at: now) else { return }
        run(step, team)
    }

    private func run(_ step: WebhookQueue<PushName>.Step, _ team: String) {
        switch step {
        case .build(let names): find(names[...], found: [], of: team)
        case .post(let batch): post(batch, team)
        }
    }

    /// Finds the receipts one after another: the journal takes few questions at a time.
    private func find(_ names: ArraySlice<PushName>, found: [PushReceiptMessage], of team: String) {
        guard let name = names.first else { return build(found, of: team) }
        receipts.find(name) { [weak self] finding in
            guard let self else { return }
            var found = found
            switch finding {
            case .receipt(let message): found.append(message)
            case .unknown: change(team) { queue, _ in queue.lost(1) }
            case .unavailable: change(team) { $0.add(name, at: $1) }
            }
            find(names.dropFirst(), found: found, of: team)
        }
    }

    private func build(_ found: [PushReceiptMessage], of team: String) {
        let timestamp = UTCTime(milliseconds: unixMilliseconds()).description
        let body = controlJSON(WebhookBodyMessage(found, at: timestamp))
        // Without random numbers the count of this run, which the receiver may have seen after another start.
        let random = (try? SecureRandom.bytes(16)).map(encodeHex) ?? "\(lastRequest)"
        var step: WebhookQueue<PushName>.Step?
        change(team) { step = $0.built(body, id: "msg_\(random)", count: found.count, at: $1) }
        if let step { run(step, team) }
    }

    private func post(_ batch: WebhookQueue<PushName>.Batch, _ team: String) {
        guard let webhook = hooks[team]?.webhook else { return }
        open()
        guard let poster = poster?.poster else {
            return finished(team, .failed("there is no thread for webhooks", retryAfter: nil))
        }
        do throws(RingwakeError) {
            let headers = try webhook.headers(
                id: batch.id, timestamp: unixMilliseconds() / 1000, body: batch.body)
            lastRequest += 1
            requests[lastRequest] = team
            hooks[team]?.request = lastRequest
            poster.post(
                .init(
                    id: lastRequest, url: webhook.url.text, headers: headers, body: batch.body, caFile: webhook.caFile,
                    isLocal: webhook.url.isLocal))
        } catch {
            finished(team, .failed(error.message, retryAfter: nil))
        }
    }

    private func finished(_ team: String, _ outcome: WebhookQueue<PushName>.Outcome) {
        let former = hooks[team]?.queue.problem
        hooks[team]?.request = nil
        change(team) { $0.finished(outcome, at: $1, jitter: .random(in: 0...1)) }
        guard let hook = hooks[team] else { return }
        if let problem = hook.queue.problem {
            guard let before = failures.note(team, at: runLoop.now) else { return }
            logger.warning(
                "a webhook fails",
                metadata: [
                    "team": "\(team)", "host": "\(hook.webhook.url.host)", "why": "\(problem)",
                    "waiting": "\(hook.queue.waiting)", "others-before": "\(before)",
                ])
        } else if former != nil {
            logger.notice("a webhook works again", metadata: ["team": "\(team)"])
        }
    }

    /// One timer for all teams.
    private func scheduleNext() {
        let next = hooks.values.compactMap(\.queue.nextDeadline).min()
        guard next != timer?.deadline else { return }
        if let timer { runLoop.cancel(timer.timer) }
        timer = next.map { deadline in
            let timer = runLoop.schedule(
                at: BootClock.Instant(nanoseconds: deadline.nanoseconds), tolerance: Self.tolerance,
                wakingFromSuspend: false
            ) { [weak self] in
                self?.timer = nil
                for team in self?.hooks.keys.sorted() ?? [] { self?.advance(team) }
                self?.scheduleNext()
            }
            return (timer, deadline)
        }
    }
}

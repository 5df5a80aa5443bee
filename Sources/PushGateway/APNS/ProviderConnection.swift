import HTTPServer
import Logging
import ProviderAPI
import RingwakeCore
internal import RunLoop

/// A sender's connection: verifies its pushes, delivers the valid ones and answers each.
///
/// ``RequestVerification`` has the checks and their order.
final class ProviderConnection: HTTPConnectionHandler {
    private let gateway: PushGateway
    private let peer: PeerInfo
    private let environment: PushEnvironment
    private var verification: RequestVerification
    /// Which refusals of a proven sender are logged.
    private var refusalsLogged = LogThrottle<RejectionReason>()

    init(gateway: PushGateway, peer: PeerInfo, environment: PushEnvironment) {
        self.gateway = gateway
        self.peer = peer
        self.environment = environment
        verification = RequestVerification(gateway: gateway, certificate: peer.certificate, environment: environment)
        verification.proveByCertificate()
    }

    var account: String? { verification.account }

    var revocation: String? { verification.revocation?.reason.rawValue }

    /// One request, with all that is known of it.
    private struct Attempt {
        let request: HTTPRequest
        let answer: ProviderAnswer
        /// Whether the sender asked for the outcome.
        var tellsOutcome = false
        var app: AppID?
        var fault: PushFault.Kind?
    }

    func judge(_ head: HTTPRequest) -> HeadVerdict {
        let headers = ProviderHeaders(head.fields)
        let answer = ProviderAnswer(sentID: headers.messageID, environment: environment)
        let attempt = Attempt(request: head, answer: answer)
        guard !head.isHeadTooLarge else {
            report(attempt, status: answer.headTooLarge.status)
            return .refuse(answer.headTooLarge)
        }
        do {
            if let path = ReceiptPath(head) {
                return tellFate(try verification.verify(path, head, headers: headers), attempt)
            }
            let judged = try verification.judge(head, headers: headers)
            return .read { request, exchange in
                let attempt = Attempt(request: request, answer: answer, tellsOutcome: headers.wantsOutcome)
                self.received(attempt, judged, on: exchange)
            }
        } catch {
            return .refuse(refuse(attempt, error))
        }
    }

    /// Answers a sender that asks what became of its push.
    private func tellFate(_ asked: ReceiptRequest, _ attempt: Attempt) -> HeadVerdict {
        .read { [gateway] _, exchange in
            gateway.receipt(asked) { json in
                guard let json else {
                    self.report(attempt, status: 404)
                    return exchange.respond(attempt.answer.unknownPush)
                }
                self.report(attempt, status: 200)
                exchange.respond(attempt.answer.receipt(json))
            }
        }
    }

    func received(_ request: HTTPRequest, on exchange: any HTTPExchange) {
        switch judge(request) {
        case .read(let receive): receive(request, exchange)
        case .refuse(let response): exchange.respond(response)
        }
    }

    private func received(_ received: Attempt, _ head: VerifiedHead, on exchange: any HTTPExchange) {
        let push: VerifiedPush
        do {
            push = try verification.verify(received.request, head: head, pushID: received.answer.apnsID)
        } catch {
            exchange.respond(refuse(received, error))
            return
        }
        var attempt = received
        attempt.app = push.app
        attempt.fault = gateway.faults.meet(.init(push.app, environment), at: gateway.bootClock())
        guard delivers(attempt, on: exchange) else { return }
        var isAnswered = false
        gateway.deliver(push) { [attempt] outcome in
            // A second outcome would be a bug; don't count it as a second push.
            guard !isAnswered else { return }
            isAnswered = true
            guard case .delay(let time) = attempt.fault else {
                return self.settle(attempt, push, outcome, on: exchange)
            }
            self.gateway.schedule(time) { self.settle(attempt, push, outcome, on: exchange) }
        }
    }

    /// Does what a fault asks for before the push is delivered.
    ///
    /// - Returns: whether the push is delivered.
    private func delivers(_ attempt: Attempt, on exchange: any HTTPExchange) -> Bool {
        guard let fault = attempt.fault else { return true }
        gateway.logger.debug(
            "a push meets a fault", metadata: metadata(attempt.answer).merging(["fault": "\(fault)"]) { $1 })
        switch fault {
        case .delay: return true
        case .goAway:
            exchange.endConnection(reason: RejectionReason.shutdown.rawValue)
            return true
        case .refusal(let reason):
            exchange.respond(refuse(attempt, Refusal(reason, "'ringwake app fault' asks for it")))
        case .reset:
            report(attempt, status: nil)
            exchange.abort()
        case .silence: report(attempt, status: nil)
        }
        return false
    }

    func connectionClosed() {
        // Delivered pushes stay delivered. Their answers find the exchange closed.
        for (reason, count) in refusalsLogged.unlogged {
            gateway.logger.notice(
                "more pushes of a closed connection were refused",
                metadata: ["peer": "\(peer.address)", "reason": "\(reason.rawValue)", "count": "\(count)"])
        }
    }

    private func settle(
        _ attempt: Attempt, _ push: VerifiedPush, _ outcome: DeliveryOutcome, on exchange: any HTTPExchange
    ) {
        switch outcome {
        case .accepted(let outcome): accept(attempt, push, outcome.rawValue, on: exchange)
        case .relayed(let relay): accept(attempt, push, relay.rawValue, on: exchange)
        case .refused(let why):
            exchange.respond(refuse(attempt, Refusal(why, of: push.app)))
        }
    }

    private func accept(
        _ attempt: Attempt, _ push: VerifiedPush, _ outcome: String, on exchange: any HTTPExchange
    ) {
        gateway.counters.countAccepted()
        gateway.logger.debug(
            "push accepted",
            metadata: metadata(attempt.answer).merging([
                "app": "\(push.app)", "answered": exchange.isOpen ? "yes" : "no, the sender has left",
            ]) { $1 })
        let team = gateway.configuration.teams[push.provenance.sender]
        let tellsOutcome = attempt.tellsOutcome || team?.getsOutcome == true
        let success = attempt.answer.success(tellsOutcome ? outcome : nil)
        report(attempt, status: success.status)
        exchange.respond(success)
    }

    /// Counts, records and logs a refusal.
    ///
    /// - Returns: the answer.
    private func refuse(_ attempt: Attempt, _ refusal: Refusal) -> HTTPResponse {
        let answer = attempt.answer
        report(attempt, status: refusal.reason.status, refusal)
        gateway.counters.countRefused(refusal.reason.rawValue, at: BootClock.now())
        gateway.refusals.add(
            RefusedAttempt(
                at: gateway.wallClock(), pushID: answer.apnsID, peer: peer.address, environment: environment,
                team: verification.team.map { gateway.configuration.teams[$0] == nil ? quoted($0) : $0 },
                reason: refusal.reason.rawValue, cause: refusal.cause))
        if let before = othersBefore(refusal.reason) {
            log(refusal, answer, othersBefore: before)
        }
        return answer.refusal(refusal.reason, timestamp: refusal.timestamp ?? gateway.wallClock())
    }

    /// Shows a request with its answer to those who watch.
    private func report(_ attempt: Attempt, status: Int?, _ refusal: Refusal? = nil) {
        guard let watch = gateway.watch, watch.isWatched() else { return }
        let since = attempt.request.receivedAt.duration(to: gateway.bootClock()).milliseconds
        watch.report(
            WatchedRequest(
                at: gateway.wallClock() - max(0, since), peer: peer.address, environment: environment,
                team: verification.team, app: attempt.app, request: attempt.request, pushID: attempt.answer.apnsID,
                status: status, reason: refusal?.reason.rawValue, cause: refusal?.cause, fault: attempt.fault))
    }

    /// How many refusals like this were not logged before it; nil if this one is not to be logged either. A proven sender
    /// has a line for each connection and reason, strangers have one for each network and reason.
    private func othersBefore(_ reason: RejectionReason) -> UInt64? {
        guard account == nil else { return refusalsLogged.note(reason, at: gateway.bootClock()) }
        return gateway.noteRefusedStranger(reason, PeerNetwork(of: peer.address))
    }

    private func log(_ refusal: Refusal, _ answer: ProviderAnswer, othersBefore: UInt64) {
        // A sender whose credential has ended or was changed loses every call until a person looks at it.
        let isCredential = [.badCertificate, .badCertificateEnvironment, .expiredProviderToken, .invalidProviderToken]
            .contains(refusal.reason)
        gateway.logger.log(
            level: isCredential ? .warning : .notice, "push refused",
            metadata: metadata(answer).merging([
                "reason": "\(refusal.reason.rawValue)", "cause": "\(refusal.cause)",
                "others-before": "\(othersBefore)",
            ]) { $1 })
    }

    private func metadata(_ answer: ProviderAnswer) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "apns-id": "\(answer.apnsID)", "peer": "\(peer.address)", "environment": "\(environment.rawValue)",
        ]
        if let team = verification.team {
            metadata["team"] = "\(quoted(team))"
        }
        return metadata
    }
}

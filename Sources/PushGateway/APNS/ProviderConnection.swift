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

    init(gateway: PushGateway, peer: PeerInfo, environment: PushEnvironment) {
        self.gateway = gateway
        self.peer = peer
        self.environment = environment
        verification = RequestVerification(gateway: gateway, certificate: peer.certificate, environment: environment)
    }

    func received(_ request: HTTPRequest, on exchange: any HTTPExchange) {
        let headers = ProviderHeaders(request.fields)
        let answer = ProviderAnswer(sentID: headers.messageID, environment: environment)
        let push: VerifiedPush
        do {
            push = try verification.verify(request, headers: headers, pushID: answer.apnsID)
        } catch {
            refuse(error, answer, on: exchange)
            return
        }
        var isAnswered = false
        gateway.deliver(push) { outcome in
            // A second outcome would be a bug; don't count it as a second push.
            guard !isAnswered else { return }
            isAnswered = true
            self.settle(push, outcome, answer, tellsOutcome: headers.wantsOutcome, on: exchange)
        }
    }

    func connectionClosed() {
        // Delivered pushes stay delivered. Their answers find the exchange closed.
    }

    private func settle(
        _ push: VerifiedPush, _ outcome: DeliveryOutcome, _ answer: ProviderAnswer, tellsOutcome: Bool,
        on exchange: any HTTPExchange
    ) {
        switch outcome {
        case .accepted(let outcome):
            gateway.counters.countAccepted()
            gateway.logger.debug(
                "push accepted",
                metadata: metadata(answer).merging([
                    "app": "\(push.app)", "answered": exchange.isOpen ? "yes" : "no, the sender has left",
                ]) { $1 })
            let team = gateway.configuration.teams[push.provenance.sender]
            exchange.respond(answer.success(tellsOutcome || team?.getsOutcome == true ? outcome : nil))
        case .refused(let why):
            let cause = "the push passed every check, but \(push.app) cannot take it"
            refuse(Refusal(RejectionReason(why), cause), answer, on: exchange)
        }
    }

    private func refuse(_ refusal: Refusal, _ answer: ProviderAnswer, on exchange: any HTTPExchange) {
        gateway.counters.countRefused(refusal.reason.rawValue, at: BootClock.now())
        gateway.refusals.add(
            RefusedAttempt(
                at: gateway.wallClock(), pushID: answer.apnsID, peer: peer.address, environment: environment,
                team: verification.team.map { gateway.configuration.teams[$0] == nil ? quoted($0) : $0 },
                reason: refusal.reason.rawValue, cause: refusal.cause))
        // A sender whose credential has ended or was changed loses every call until a person looks at it.
        let isCredential = [.badCertificate, .badCertificateEnvironment, .expiredProviderToken, .invalidProviderToken]
            .contains(refusal.reason)
        gateway.logger.log(
            level: isCredential ? .warning : .notice, "push refused",
            metadata: metadata(answer).merging([
                "reason": "\(refusal.reason.rawValue)", "cause": "\(refusal.cause)",
            ]) { $1 })
        exchange.respond(answer.refusal(refusal.reason, timestamp: refusal.timestamp ?? gateway.wallClock()))
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

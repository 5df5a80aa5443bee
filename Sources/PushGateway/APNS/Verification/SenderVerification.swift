import Cryptography
import HTTPServer
import ProviderAPI
import RingwakeCore
import RunLoop

/// Identifies the sender of each request on one connection.
///
/// If the sender showed a provider certificate in the handshake, only the certificate counts and `authorization` is
/// ignored, as Apple does ("When the provider certificate is used to establish a connection, this request header is
/// ignored"). A bad certificate is refused even with a valid token.
struct SenderVerification {
    /// The team that the connection has proven to belong to; nil if it has proven nothing yet.
    private(set) var account: String?

    private let certificate: PeerCertificate?
    private let environment: PushEnvironment
    private var verdict: Result<ProviderCertificate, Refusal>?
    private var tokens = ProviderTokenVerifier()
    /// Generation of the configuration that the verdicts are based on.
    private var generation: UInt64?

    init(certificate: PeerCertificate?, environment: PushEnvironment) {
        self.certificate = certificate
        self.environment = environment
    }

    /// The sender's team, as far as it is known or claimed, for the log.
    var team: String? { certificate?.certificate.organizationalUnit ?? tokens.team }

    /// The verified sender of this request.
    ///
    /// - Parameters:
    ///   - authorization: the request's `authorization`.
    ///   - now: seconds since 1970.
    mutating func sender(
        authorization: String?, gateway: PushGateway, now: Int64
    ) throws(Refusal) -> VerifiedSender {
        let sender = try verified(authorization: authorization, gateway: gateway, now: now)
        if account == nil { account = sender.team }
        return sender
    }

    /// Sets ``account`` if the certificate is valid. A bad one is refused at the first push, with its reason.
    mutating func proveByCertificate(gateway: PushGateway, now: Int64) {
        guard certificate != nil else { return }
        account = try? sender(authorization: nil, gateway: gateway, now: now).team
    }

    private mutating func verified(
        authorization: String?, gateway: PushGateway, now: Int64
    ) throws(Refusal) -> VerifiedSender {
        if generation != gateway.generation {
            generation = gateway.generation
            verdict = nil
            tokens.forgetVerdicts()
        }
        let teams = gateway.configuration.teams
        if let certificate {
            let good = try judged(certificate, teams: teams).get()
            guard now <= good.notAfter else {
                throw Refusal(.badCertificate, "the certificate has expired since the connection was made")
            }
            return VerifiedSender(team: good.team, certificate: good)
        }
        let token = try SenderVerification.providerToken(in: authorization)
        let instant = BootInstant(nanoseconds: gateway.bootClock().nanoseconds)
        let claims = try tokens.verify(token, now: now, at: instant) { team, keyID in teams[team]?.keys[keyID] }
        return VerifiedSender(team: claims.teamID, certificate: nil)
    }

    /// Why the credential that this connection used last is no longer accepted under the gateway's present configuration.
    ///
    /// Ask it after a change of the configuration, for each open connection. Time is not judged here: a credential that
    /// has expired is refused at the next push. A change of the provider CAs is not either: `HTTP2TLSListener.replaceTLS`
    /// ends the connections that showed a certificate.
    ///
    /// - Returns: the refusal that the credential would get; nil if it is still accepted, or if the connection has not
    ///   proven itself.
    func revocation(by configuration: GatewayConfiguration) -> Refusal? {
        let teams = configuration.teams
        guard let certificate else { return tokens.revocation { team, keyID in teams[team]?.keys[keyID] } }
        guard case .success = verdict else { return nil }
        do throws(Refusal) {
            _ = try ProviderCertificate(certificate, environment: environment) { teams[$0] != nil }
            return nil
        } catch {
            return error
        }
    }

    private mutating func judged(
        _ peer: PeerCertificate, teams: [String: GatewayConfiguration.Team]
    ) -> Result<ProviderCertificate, Refusal> {
        if let verdict { return verdict }
        let fresh = Result { () throws(Refusal) in
            try ProviderCertificate(peer, environment: environment) { teams[$0] != nil }
        }
        verdict = fresh
        return fresh
    }

    /// The token of `bearer TOKEN`; the scheme is case-insensitive (RFC 9110 section 11.1).
    private static func providerToken(in authorization: String?) throws(Refusal) -> String {
        guard let authorization else {
            throw Refusal(.missingProviderToken, "neither a certificate nor an authorization field came")
        }
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw Refusal(.missingProviderToken, "the authorization field is not 'bearer' and a token")
        }
        return String(parts[1].drop { $0 == " " })
    }
}

/// A sender with a valid certificate or token.
struct VerifiedSender {
    let team: String
    /// The sender's certificate; nil if it used a token.
    let certificate: ProviderCertificate?

    /// The topic of a push, which the sender must be allowed to push to.
    ///
    /// - Parameters:
    ///   - sent: the request's `apns-topic`.
    ///   - team: the sender's team, as configured.
    /// - Throws: MissingTopic if neither the request nor the certificate names it; TopicDisallowed if the certificate
    ///   doesn't cover it; Forbidden if only our configuration disallows it.
    func topic(sent: Topic?, team: GatewayConfiguration.Team?) throws(Refusal) -> Topic {
        guard let topic = sent ?? certificate?.defaultTopic else {
            let why = certificate == nil ? "a provider token names none" : "the certificate does not settle it"
            throw Refusal(.missingTopic, "apns-topic is missing, and \(why)")
        }
        if let certificate, !certificate.covers(topic) {
            throw Refusal(.topicDisallowed, "the certificate does not cover the topic \(quoted(topic.rawValue))")
        }
        if let allowed = team?.topics, !allowed.contains(topic.rawValue) {
            throw Refusal(
                .forbidden,
                "the configuration does not let the team \(quoted(self.team)) push to \(quoted(topic.rawValue))")
        }
        return topic
    }
}

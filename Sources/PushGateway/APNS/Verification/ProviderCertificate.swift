import Cryptography
import ProviderAPI
import RingwakeCore

/// A valid certificate of a sender, with its team and its topics.
///
/// The topic is the subject's UID, the team its OU. Apple's extension `.6` (1.2.840.113635.100.6.3.6) has more topics.
///
/// Who trusts a CA of Apple's trusts one that has issued certificates to every developer, and for other purposes than
/// pushes. So the configured teams are the list of those who may send, and of Apple's certificates only those for pushes
/// count (decision 0050).
nonisolated struct ProviderCertificate {
    /// Team of the certificate: the OU.
    let team: String
    /// Last second of its validity, since 1970.
    let notAfter: Int64
    /// Topics that it may push to.
    private let topics: Set<String>
    /// Topic of a push that names none; nil if the certificate doesn't determine one.
    let defaultTopic: Topic?

    /// Verifies the certificate that a sender showed in the TLS handshake.
    ///
    /// - Parameters:
    ///   - peer: the certificate and the result of its verification.
    ///   - environment: environment that the sender connected to.
    ///   - isKnownTeam: whether a team is configured.
    /// - Throws: BadCertificate if no provider CA issued it, it has expired, its team isn't configured, or Apple issued it
    ///   for something else than pushes; BadCertificateEnvironment if it is only for the other environment.
    init(
        _ peer: PeerCertificate, environment: PushEnvironment, isKnownTeam: (String) -> Bool
    ) throws(Refusal) {
        let certificate = peer.certificate
        if case .untrusted(let reason, _) = peer.verification {
            let issuer = certificate.issuerCommonName.map { "; its issuer is \(quoted($0))" } ?? ""
            throw Refusal(
                .badCertificate, "the certificate of \(quoted(certificate.title)) is not trusted: \(reason)\(issuer)")
        }
        guard let team = certificate.organizationalUnit, isKnownTeam(team) else {
            let unit = certificate.organizationalUnit.map { "the team \(quoted($0)), which is not configured" }
            throw Refusal(.badCertificate, "the certificate names \(unit ?? "no team (OU)")")
        }
        let extensions = certificate.appleExtensions
        guard extensions.isForPushes || !certificate.namesAppleAsIssuer else {
            throw Refusal(
                .badCertificate, "Apple did not issue the certificate of \(quoted(certificate.title)) for pushes")
        }
        let isForThis = environment == .development ? extensions.isDevelopment : extensions.isProduction
        let isForOther = environment == .development ? extensions.isProduction : extensions.isDevelopment
        guard isForThis || !isForOther else {
            throw Refusal(.badCertificateEnvironment, "the certificate is not for \(environment.rawValue)")
        }

        var topics = Set(extensions.topics.map(\.topic))
        if let userID = certificate.subjectUserID {
            topics.insert(userID)
        }
        self.team = team
        self.topics = topics
        notAfter = certificate.notAfter
        defaultTopic = ProviderCertificate.defaultTopic(of: certificate, topics: topics)
    }

    /// The only topic, if there is just one. A VoIP Services certificate also lists the app's other topics, but it is
    /// made for VoIP pushes, so its UID is the default. Senders that can't set headers (Kamailio's `http_connect`) need
    /// it.
    private static func defaultTopic(of certificate: Certificate, topics: Set<String>) -> Topic? {
        if topics.count == 1, let only = topics.first {
            return Topic(only)
        }
        guard let userID = certificate.subjectUserID else { return nil }
        let topic = Topic(userID)
        return certificate.appleExtensions.isVoIP || topic.isVoIP ? topic : nil
    }

    /// Whether it may push to `topic`.
    func covers(_ topic: Topic) -> Bool {
        topics.contains(topic.rawValue)
    }
}

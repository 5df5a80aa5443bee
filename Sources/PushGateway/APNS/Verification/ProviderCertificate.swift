import Cryptography
import ProviderAPI
import RingwakeCore

/// A sender's certificate that was found good: for which team it vouches, and for which topics.
///
/// The topic is the subject's UID, the team its OU; further topics are in Apple's extension `.6`
/// (1.2.840.113635.100.6.3.6).
nonisolated struct ProviderCertificate {
    /// Whose it is: the OU.
    let team: String
    /// The last second of its validity, since 1970.
    let notAfter: Int64
    /// What may be pushed to with it.
    private let topics: Set<String>
    /// The topic of a push that names none; nil when the certificate does not settle it.
    let defaultTopic: Topic?

    /// Judges what a sender showed in the TLS handshake.
    ///
    /// - Parameters:
    ///   - peer: the certificate and what came of verifying it.
    ///   - environment: which environment the sender connected to.
    ///   - isKnownTeam: whether a team is configured.
    /// - Throws: BadCertificate for one that no provider CA vouches for, that has ended, or whose team is not
    ///   configured; BadCertificateEnvironment for one that names only the other environment.
    init(
        _ peer: PeerCertificate, environment: PushEnvironment, isKnownTeam: (String) -> Bool
    ) throws(Refusal) {
        let certificate = peer.certificate
        if case .untrusted(let reason, _) = peer.verification {
            throw Refusal(
                .badCertificate, "the certificate of \(quoted(certificate.title)) is not trusted: \(reason)")
        }
        guard let team = certificate.organizationalUnit, isKnownTeam(team) else {
            let unit = certificate.organizationalUnit.map { "the team \(quoted($0)), which is not configured" }
            throw Refusal(.badCertificate, "the certificate names \(unit ?? "no team (OU)")")
        }
        let extensions = certificate.appleExtensions
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

    /// The only topic where there is one. A VoIP Services certificate also lists the app's other topics, yet is made
    /// for one kind of push: its UID is meant then, so that senders that can set no header (Kamailio's
    /// `http_connect`) can push.
    private static func defaultTopic(of certificate: Certificate, topics: Set<String>) -> Topic? {
        if topics.count == 1, let only = topics.first {
            return Topic(only)
        }
        guard let userID = certificate.subjectUserID else { return nil }
        let topic = Topic(userID)
        return certificate.appleExtensions.isVoIP || topic.isVoIP ? topic : nil
    }

    /// Whether pushes to `topic` may be sent with it.
    func covers(_ topic: Topic) -> Bool {
        topics.contains(topic.rawValue)
    }
}

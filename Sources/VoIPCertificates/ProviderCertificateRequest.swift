package import Cryptography
package import RingwakeCore

/// The contents of a provider certificate.
///
/// By default it is like Apple's "VoIP Services Certificate": both environments, the topics of the app and of its
/// VoIP pushes, 395 days.
package struct ProviderCertificateRequest: Sendable {
    /// The app.
    package var app: AppID
    /// The team: OU of the subject.
    package var teamID: String
    /// O of the subject.
    package var organization = "Ringwake development"
    /// C of the subject, two letters; `nil` leaves it out.
    package var country: String?
    /// UID of the subject; `nil` leaves it out, which no sender can work with: for tests.
    package var userID: String?
    /// The environments that it is valid for.
    package var environments: Set<PushEnvironment> = Set(PushEnvironment.allCases)
    /// Whether it is marked as one for VoIP services.
    package var isVoIP = true
    /// The topics that it may push to, with their purposes.
    package var topics: [AppleExtensions.CertifiedTopic]
    /// First second of validity, since 1970; `nil`: an hour ago, for clocks that differ.
    package var notBefore: Int64?
    /// Last second of validity, since 1970; `nil`: in 395 days.
    package var notAfter: Int64?
    /// The kind of its key.
    package var keyKind = PrivateKey.Kind.p256

    /// A request for the usual certificate of `app`.
    package init(app: AppID, teamID: String) {
        let topic = Topic.voip(of: app).rawValue
        self.app = app
        self.teamID = teamID
        userID = topic
        topics = [
            .init(topic: app.rawValue, purposes: ["app"]),
            .init(topic: topic, purposes: ["voip"]),
        ]
    }

    /// The template of the certificate, issued at `now` (seconds since 1970).
    func template(at now: Int64) throws(RingwakeError) -> CertificateTemplate {
        try TeamID.check(teamID)
        return CertificateTemplate(
            subject: .init(
                userID: userID, commonName: "VoIP Services: \(app)", organizationalUnit: teamID,
                organization: organization, country: country),
            role: .provider(
                AppleExtensions(
                    isDevelopment: environments.contains(.development),
                    isProduction: environments.contains(.production), isVoIP: isVoIP, topics: topics)),
            notBefore: notBefore ?? Validity.start(at: now),
            notAfter: notAfter ?? Validity.end(at: now, days: Validity.providerDays))
    }
}

/// The ids of teams that certificates and tokens are made for.
enum TeamID {
    /// - Throws: `invalidRequest` for an id that a provider token could not carry.
    static func check(_ id: String) throws(RingwakeError) {
        guard !id.isEmpty, id.utf8.count <= ProviderToken.maximumIDBytes, id.utf8.allSatisfy(\.isNameByte) else {
            throw RingwakeError(
                .invalidRequest,
                "'\(id)' cannot be a team id; give 10 letters and digits as Apple does, such as DEVTEAM001.")
        }
    }
}

/// The validity periods of our certificates.
enum Validity {
    /// Clocks of two machines may differ, most of all after a restart: an hour.
    static let backdatingSeconds: Int64 = 3600
    static let secondsPerDay: Int64 = 86_400
    static let authorityDays: Int64 = 3650
    /// Browsers, and the libraries that follow them, accept at most 398.
    static let serverDays: Int64 = 397
    /// As Apple's: a year and a month.
    static let providerDays: Int64 = 395

    static func start(at now: Int64) -> Int64 {
        now - backdatingSeconds
    }

    static func end(at now: Int64, days: Int64) -> Int64 {
        now + days * secondsPerDay
    }
}

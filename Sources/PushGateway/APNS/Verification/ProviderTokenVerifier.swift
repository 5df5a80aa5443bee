import Cryptography
import ProviderAPI
import RingwakeCore

/// Verifies the provider tokens of one connection, and the signature of each only once.
///
/// A token is recognized by its text; after that only its age is checked. The signature is checked before the age, so
/// that only holders of a key learn about expiry.
///
/// The connection belongs to the team of its first valid token. Another team's token is answered with
/// UnrelatedKeyIdInToken, as Apple does ("To use this token, open a new connection"); another key of the same team is
/// accepted. Clients that don't know this reason open a connection for each push and never get it.
///
/// New tokens are counted for each connection, and not for each key or team: some clients make a token for each of their
/// connections, or open one for each push. Beyond the limit they are answered with TooManyProviderTokenUpdates.
///
/// See "Establishing a token-based connection to APNs".
struct ProviderTokenVerifier {
    /// Maximum age in seconds. An older token is answered with ExpiredProviderToken.
    static let maximumAge: Int64 = 3600
    /// A token may be issued this many seconds in the future, because clocks differ.
    static let futureTolerance: Int64 = 300
    /// Maximum remembered tokens of a connection: as many as it may bring at once, so that none of them is new again.
    static let maximumRememberedTokens = tokensAtOnce
    /// After this many invalid tokens, a connection's new tokens are refused without verification, which is expensive.
    static let maximumFailures = 20

    /// New tokens that a connection may bring at once: a proxy may send the pushes of several processes on it.
    static let tokensAtOnce = 10
    /// The time after which it may bring one more; Apple's "no more than once every 20 minutes".
    static let renewalInterval = Duration.seconds(20 * 60)

    /// A token whose signature was valid.
    private struct Remembered {
        let text: String
        let claims: ProviderToken.Claims
        /// Whether that was with the present configuration.
        var isCurrent = true
    }

    /// Most recently used last.
    private var remembered: [Remembered] = []
    private var failures = 0
    private var updates = RateBucket(burst: tokensAtOnce, interval: renewalInterval)
    /// The connection's team, once a valid token was sent.
    private(set) var team: String?

    /// Forgets the results for an older configuration. The connection still belongs to its team, and its tokens are not
    /// new when they are verified again.
    mutating func forgetVerdicts() {
        for index in remembered.indices { remembered[index].isCurrent = false }
        failures = 0
    }

    /// Verifies a token.
    ///
    /// - Parameters:
    ///   - text: the token as sent.
    ///   - now: seconds since 1970.
    ///   - instant: the same time on the boot clock.
    ///   - key: a team's key by its key ID; nil if either isn't configured.
    /// - Returns: the verified claims.
    mutating func verify(
        _ text: String, now: Int64, at instant: BootInstant, key: (_ team: String, _ keyID: String) -> P256PublicKey?
    ) throws(Refusal) -> ProviderToken.Claims {
        let known = remembered.lastIndex { $0.text == text }
        if let known, remembered[known].isCurrent {
            let claims = remembered[known].claims
            do {
                try requireTimely(claims, now: now)
            } catch {
                remembered.remove(at: known)
                throw error
            }
            if known != remembered.count - 1 {
                remembered.append(remembered.remove(at: known))
            }
            return claims
        }

        guard failures < ProviderTokenVerifier.maximumFailures else {
            throw Refusal(
                .invalidProviderToken,
                "not looked at: \(failures) provider tokens failed on this connection; connect again")
        }
        let fresh: Remembered
        do {
            fresh = try verifySignature(of: text, isKnown: known != nil, at: instant, key: key)
        } catch {
            if error.reason == .invalidProviderToken { failures += 1 }
            throw error
        }
        try requireTimely(fresh.claims, now: now)
        guard team == nil || team == fresh.claims.teamID else {
            throw Refusal(
                .unrelatedKeyIDInToken,
                "the connection belongs to the team \(quoted(team ?? "")), the token to \(quoted(fresh.claims.teamID))")
        }
        team = fresh.claims.teamID
        if let known {
            remembered.remove(at: known)
        } else {
            updates.take(at: instant)
        }
        if remembered.count == ProviderTokenVerifier.maximumRememberedTokens {
            remembered.removeFirst()
        }
        remembered.append(fresh)
        return fresh.claims
    }

    /// Why the token that was used last is no longer accepted: its team or key was removed, or its key was replaced.
    ///
    /// - Parameter key: a team's key by its key ID; nil if either isn't configured.
    /// - Returns: nil if it is still accepted, or if there was no valid token.
    func revocation(key: (_ team: String, _ keyID: String) -> P256PublicKey?) -> Refusal? {
        guard let last = remembered.last else { return nil }
        do throws(Refusal) {
            try Self.requireSignature(of: try Self.parse(last.text), key: key)
            return nil
        } catch {
            return error
        }
    }

    /// - Parameter isKnown: whether the connection has brought this token before, so that it is no new one.
    private func verifySignature(
        of text: String, isKnown: Bool, at instant: BootInstant,
        key: (_ team: String, _ keyID: String) -> P256PublicKey?
    ) throws(Refusal) -> Remembered {
        let parsed = try Self.parse(text)
        let claims = parsed.claims
        // Before the signature, whose verification is expensive. Only valid tokens have used up the bucket.
        guard isKnown || updates.allows(at: instant) else {
            let last = remembered.last.map { "; the last one has iat \($0.claims.issuedAt)" } ?? ""
            throw Refusal(
                .tooManyProviderTokenUpdates,
                "\(Self.name(of: claims)) came with a new token, iat \(claims.issuedAt)\(last). A connection may bring "
                    + "\(Self.tokensAtOnce) tokens at once, and then one each "
                    + "\(Self.renewalInterval.components.seconds / 60) minutes")
        }
        try Self.requireSignature(of: parsed, key: key)
        return Remembered(text: text, claims: claims)
    }

    private static func parse(_ text: String) throws(Refusal) -> ProviderToken.Parsed {
        do {
            return try ProviderToken.parse(text)
        } catch {
            throw Refusal(.invalidProviderToken, quoted(error.description))
        }
    }

    private static func requireSignature(
        of parsed: ProviderToken.Parsed, key: (_ team: String, _ keyID: String) -> P256PublicKey?
    ) throws(Refusal) {
        let claims = parsed.claims
        guard let key = key(claims.teamID, claims.keyID) else {
            throw Refusal(.invalidProviderToken, "\(name(of: claims)) is not configured")
        }
        guard parsed.isSigned(by: key) else {
            throw Refusal(.invalidProviderToken, "the signature is not of \(name(of: claims))")
        }
    }

    private static func name(of claims: ProviderToken.Claims) -> String {
        "the key \(quoted(claims.keyID)) of the team \(quoted(claims.teamID))"
    }

    private func requireTimely(_ claims: ProviderToken.Claims, now: Int64) throws(Refusal) {
        let (age, overflow) = now.subtractingReportingOverflow(claims.issuedAt)
        guard !overflow, age >= -ProviderTokenVerifier.futureTolerance else {
            let distance = overflow ? "" : "\(age.magnitude) s "
            throw Refusal(
                .invalidProviderToken, "the provider token was issued \(distance)in the future; check both clocks")
        }
        guard age <= ProviderTokenVerifier.maximumAge else {
            throw Refusal(.expiredProviderToken, "the provider token was issued \(age) s ago")
        }
    }
}

import Cryptography
import ProviderAPI
import RingwakeCore

/// Judges the provider tokens of one connection, and verifies the signature of each only once.
///
/// A token is known again by its very text; then only its age is looked at. The signature is verified before
/// the age, so that only holders of a key learn about expiry.
///
/// The connection belongs to the team of the first good token on it. Another team's token is answered
/// UnrelatedKeyIdInToken, which is how Apple words it ("To use this token, open a new connection"); another key
/// of the same team is fine. Clients that do not know this reason open a connection for each push and never meet it.
///
/// See "Establishing a token-based connection to APNs".
struct ProviderTokenVerifier {
    /// A token that is older is answered ExpiredProviderToken; in seconds.
    static let maximumAge: Int64 = 3600
    /// A token may seem to come from the future by this much, for clocks differ; in seconds.
    static let futureTolerance: Int64 = 300
    /// Good tokens remembered for a connection. One is usual, two while it is being renewed.
    static let maximumRememberedTokens = 4
    /// Bad tokens after which a connection's further ones are refused unseen: verifying is what costs.
    static let maximumFailures = 20

    /// A token whose signature was found good.
    private struct Remembered {
        let text: String
        let claims: ProviderToken.Claims
    }

    /// The most recently used last.
    private var remembered: [Remembered] = []
    private var failures = 0
    /// The team that the connection belongs to, once a good token came.
    private(set) var team: String?

    /// Forgets what was concluded from an older configuration. The connection still belongs to its team.
    mutating func forgetVerdicts() {
        remembered.removeAll()
        failures = 0
    }

    /// Judges a token.
    ///
    /// - Parameters:
    ///   - text: the token as it came.
    ///   - now: seconds since 1970.
    ///   - key: the key of a team by its key id, nil when either is not configured.
    /// - Returns: what the token says, which is proved.
    mutating func verify(
        _ text: String, now: Int64, key: (_ team: String, _ keyID: String) -> P256PublicKey?
    ) throws(Refusal) -> ProviderToken.Claims {
        if let index = remembered.lastIndex(where: { $0.text == text }) {
            let known = remembered[index]
            do {
                try requireTimely(known.claims, now: now)
            } catch {
                remembered.remove(at: index)
                throw error
            }
            if index != remembered.count - 1 {
                remembered.append(remembered.remove(at: index))
            }
            return known.claims
        }

        guard failures < ProviderTokenVerifier.maximumFailures else {
            throw Refusal(
                .invalidProviderToken,
                "not looked at: \(failures) provider tokens failed on this connection; connect again")
        }
        let claims: ProviderToken.Claims
        do {
            claims = try verifySignature(of: text, key: key)
        } catch {
            failures += 1
            throw error
        }
        try requireTimely(claims, now: now)
        guard team == nil || team == claims.teamID else {
            throw Refusal(
                .unrelatedKeyIDInToken,
                "the connection belongs to the team \(quoted(team ?? "")), the token to \(quoted(claims.teamID))")
        }
        team = claims.teamID
        if remembered.count == ProviderTokenVerifier.maximumRememberedTokens {
            remembered.removeFirst()
        }
        remembered.append(Remembered(text: text, claims: claims))
        return claims
    }

    private func verifySignature(
        of text: String, key: (_ team: String, _ keyID: String) -> P256PublicKey?
    ) throws(Refusal) -> ProviderToken.Claims {
        let parsed: ProviderToken.Parsed
        do {
            parsed = try ProviderToken.parse(text)
        } catch {
            throw Refusal(.invalidProviderToken, quoted(error.description))
        }
        let claims = parsed.claims
        let name = "the key \(quoted(claims.keyID)) of the team \(quoted(claims.teamID))"
        guard let key = key(claims.teamID, claims.keyID) else {
            throw Refusal(.invalidProviderToken, "\(name) is not configured")
        }
        guard parsed.isSigned(by: key) else {
            throw Refusal(.invalidProviderToken, "the signature is not of \(name)")
        }
        return claims
    }

    private func requireTimely(_ claims: ProviderToken.Claims, now: Int64) throws(Refusal) {
        let (age, overflow) = now.subtractingReportingOverflow(claims.issuedAt)
        guard !overflow, age >= -ProviderTokenVerifier.futureTolerance else {
            throw Refusal(.invalidProviderToken, "the provider token was issued at \(claims.issuedAt), in the future")
        }
        guard age <= ProviderTokenVerifier.maximumAge else {
            throw Refusal(.expiredProviderToken, "the provider token was issued \(age) s ago")
        }
    }
}

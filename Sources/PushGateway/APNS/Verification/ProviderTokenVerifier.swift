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
/// See "Establishing a token-based connection to APNs".
struct ProviderTokenVerifier {
    /// Maximum age in seconds. An older token is answered with ExpiredProviderToken.
    static let maximumAge: Int64 = 3600
    /// A token may be issued this many seconds in the future, because clocks differ.
    static let futureTolerance: Int64 = 300
    /// Maximum remembered tokens of a connection. One is usual, two while it is being renewed.
    static let maximumRememberedTokens = 4
    /// After this many invalid tokens, a connection's new tokens are refused without verification, which is expensive.
    static let maximumFailures = 20

    /// A token with a valid signature.
    private struct Remembered {
        let text: String
        let claims: ProviderToken.Claims
    }

    /// Most recently used last.
    private var remembered: [Remembered] = []
    private var failures = 0
    /// The connection's team, once a valid token was sent.
    private(set) var team: String?

    /// Forgets the results for an older configuration. The connection still belongs to its team.
    mutating func forgetVerdicts() {
        remembered.removeAll()
        failures = 0
    }

    /// Verifies a token.
    ///
    /// - Parameters:
    ///   - text: the token as sent.
    ///   - now: seconds since 1970.
    ///   - key: a team's key by its key ID; nil if either isn't configured.
    /// - Returns: the verified claims.
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
            let distance = overflow ? "" : "\(age.magnitude) s "
            throw Refusal(
                .invalidProviderToken, "the provider token was issued \(distance)in the future; check both clocks")
        }
        guard age <= ProviderTokenVerifier.maximumAge else {
            throw Refusal(.expiredProviderToken, "the provider token was issued \(age) s ago")
        }
    }
}

import FoundationEssentials
package import RingwakeCore

/// The token with which a provider proves its team: a JWT (RFC 7519) signed with ES256.
///
/// The gateway parses, looks the key up by ``Claims/keyID``, and verifies; the sender signs:
///
///     let token = try ProviderToken.sign(keyID: "ABC123DEFG", teamID: "TEAM123456", issuedAt: now, key: key)
///     let parsed = try ProviderToken.parse(token)
///     guard parsed.isSigned(by: keys[parsed.claims.keyID]) else { ... }
package enum ProviderToken {
    /// Maximum bytes of a token; real ones have about 200.
    package static let maximumBytes = 4096
    /// Maximum bytes of a key id and of a team id; Apple's have 10.
    package static let maximumIDBytes = 64
    /// The accepted issue times, in seconds since 1970: up to the end of the year 9999, so that adding a lifetime
    /// can't overflow.
    package static let issuedAtRange: ClosedRange<Int64> = 0...253_402_300_799

    /// The claims of a provider token.
    package struct Claims: Equatable, Sendable {
        /// `kid` of the header: which key signed.
        package let keyID: String
        /// `iss`: the team.
        package let teamID: String
        /// `iat`: when it was issued, in seconds since 1970, rounded down.
        package let issuedAt: Int64

        package init(keyID: String, teamID: String, issuedAt: Int64) {
            self.keyID = keyID
            self.teamID = teamID
            self.issuedAt = issuedAt
        }
    }

    /// A parsed token. Nothing in it is proven until its signature is verified.
    package struct Parsed: Equatable, Sendable {
        package let claims: Claims
        /// The bytes that are signed: header and claims as they came.
        package let signingInput: [UInt8]
        /// r and s, 64 bytes, neither of them zero.
        package let signature: [UInt8]

        /// Whether `key` signed this token.
        package func isSigned(by key: P256PublicKey) -> Bool {
            key.isValid(rawSignature: signature, for: signingInput)
        }
    }

    /// Reads a token. Accepts only the algorithm ES256, before any key is looked up.
    ///
    /// `iat` may be an integer, a float or a numeric string, as providers send all three.
    package static func parse(
        _ token: String, maximumBytes: Int = maximumBytes
    ) throws(ProviderTokenError) -> Parsed {
        let bytes = Array(token.utf8.prefix(maximumBytes + 1))
        guard bytes.count <= maximumBytes else { throw .tooLong(maximumBytes: maximumBytes) }
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .malformed("it has \(parts.count) parts, not 3") }
        guard let headerJSON = Base64URL.decode(parts[0]), let claimsJSON = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw .malformed("a part is not unpadded base64url") }

        guard let header = try? JSONDecoder().decode(HeaderJSON.self, from: Data(headerJSON)) else {
            throw .malformed("its header is not an object with 'alg' and 'kid'")
        }
        guard header.alg == "ES256" else { throw .unsupportedAlgorithm(String(header.alg.prefix(maximumIDBytes))) }
        guard isID(header.kid) else { throw .malformed("'kid' is empty or longer than \(maximumIDBytes) bytes") }
        guard signature.count == ES256Signature.rawBytes, ES256Signature.der(fromRaw: signature) != nil else {
            throw .malformed("its signature is not 64 bytes of r and s")
        }
        guard let claims = try? JSONDecoder().decode(ClaimsJSON.self, from: Data(claimsJSON)) else {
            throw .malformed("its claims are not an object with 'iss' and 'iat'")
        }
        guard isID(claims.iss) else { throw .malformed("'iss' is empty or longer than \(maximumIDBytes) bytes") }
        guard let issuedAt = claims.iat.seconds, issuedAtRange.contains(issuedAt) else {
            throw .malformed("'iat' is no time in seconds since 1970")
        }
        return Parsed(
            claims: Claims(keyID: header.kid, teamID: claims.iss, issuedAt: issuedAt),
            signingInput: Array(bytes[..<parts[1].endIndex]), signature: signature)
    }

    /// A token for `teamID`, signed with the key that the push service knows as `keyID`.
    ///
    /// - Parameter issuedAt: seconds since 1970; push services refuse tokens that are older than an hour.
    /// - Throws: `invalidRequest` for an id that is empty, too long or not plain ASCII.
    package static func sign(
        keyID: String, teamID: String, issuedAt: Int64, key: P256PrivateKey
    ) throws(RingwakeError) -> String {
        for (name, id) in [("key id", keyID), ("team id", teamID)] {
            guard isID(id), id.utf8.allSatisfy(\.isNameByte) else {
                throw RingwakeError(
                    .invalidRequest,
                    "The \(name) '\(id)' is not 1 to \(maximumIDBytes) letters, digits, '.', '-' or '_'; "
                        + "Apple's have 10 letters and digits, as in the name of the P8 file.")
            }
        }
        let header = #"{"alg":"ES256","kid":"\#(keyID)"}"#
        let claims = #"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#
        let signingInput = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims.utf8)
        let signature = try key.rawSignature(for: Array(signingInput.utf8))
        return signingInput + "." + Base64URL.encode(signature)
    }

    private static func isID(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= maximumIDBytes
    }
}

/// Why a provider token cannot be read. The gateway answers each with InvalidProviderToken; the texts are for its
/// log.
package enum ProviderTokenError: Error, Equatable, Sendable, CustomStringConvertible {
    /// It is longer than the gateway reads.
    case tooLong(maximumBytes: Int)
    /// It isn't a JWT as providers make them; the reason names what is missing.
    case malformed(String)
    /// It names another algorithm than ES256 (`none` among them).
    case unsupportedAlgorithm(String)

    package var description: String {
        switch self {
        case .tooLong(let maximumBytes): "the provider token is longer than \(maximumBytes) bytes"
        case .malformed(let reason): "the provider token is malformed: \(reason)"
        case .unsupportedAlgorithm(let name): "the provider token is signed with '\(name)', not ES256"
        }
    }
}

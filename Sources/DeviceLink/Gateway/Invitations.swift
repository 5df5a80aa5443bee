package import RingwakeCore

/// The open invitations to pair, and who has tried wrong codes.
///
/// A code has two characters that name the invitation, and a secret: eight characters (40 bits) to type, or 16 (80 bits)
/// in a link or a QR code. They are Crockford's base32, read without regard to case, hyphens and spaces; `O` reads as 0,
/// `I` and `L` as 1.
package struct Invitations: Sendable {
    /// How long an invitation is valid.
    package static let lifetime: Duration = .seconds(600)
    /// Wrong secrets that end an invitation.
    package static let maximumWrongTries = 5
    /// Wrong codes of one network within ``networkPeriod``; then it must wait.
    package static let maximumWrongTriesOfNetwork = 20
    package static let networkPeriod: Duration = .seconds(3600)
    /// Open invitations at most.
    package static let maximumOpen = 100
    /// Networks that are remembered at most; then the oldest are forgotten.
    static let maximumNetworks = 10_000
    /// Random bytes that an invitation needs.
    package static let randomBytes = 26

    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    private static let nameCount = 2
    private static let typedCount = 8
    private static let longCount = 16

    /// A new invitation's codes.
    package struct Codes: Hashable, Sendable {
        /// `AB-1234-5678`.
        package let typed: String
        /// 18 characters.
        package let long: String
        package let expires: BootInstant
    }

    /// What a code is worth.
    package enum Verdict: Hashable, Sendable {
        /// It is used up now.
        case valid
        case wrong
        /// Too many wrong codes came from this network.
        case tooManyTries
    }

    private struct Invitation: Sendable {
        let name: String
        let typed: String
        let long: String
        let expires: BootInstant
        var wrongTries = 0
    }

    private struct Tries: Sendable {
        var count: Int
        let since: BootInstant
    }

    private var open: [Invitation] = []
    private var tries: [String: Tries] = [:]

    package init() {}

    /// The number of open invitations.
    package mutating func count(at now: BootInstant) -> Int {
        open.removeAll { $0.expires <= now }
        return open.count
    }

    /// Makes an invitation.
    ///
    /// - Parameter random: ``randomBytes`` random bytes.
    /// - Returns: nil if too many are open.
    package mutating func make(random: [UInt8], at now: BootInstant) -> Codes? {
        guard count(at: now) < Self.maximumOpen, random.count == Self.randomBytes else { return nil }
        let text = random.map { Self.digits[Int($0 & 31)] }
        var name = String(decoding: text.prefix(Self.nameCount), as: UTF8.self)
        // Two open ones must not have the same name.
        for step in 0..<1024 where open.contains(where: { $0.name == name }) {
            name = String(
                decoding: [Self.digits[(Int(random[0]) + step / 32) & 31], Self.digits[(Int(random[1]) + step) & 31]],
                as: UTF8.self)
        }
        let typed = String(decoding: text.dropFirst(Self.nameCount).prefix(Self.typedCount), as: UTF8.self)
        let long = String(decoding: text.suffix(Self.longCount), as: UTF8.self)
        let expires = now.advanced(by: Self.lifetime)
        open.append(Invitation(name: name, typed: typed, long: long, expires: expires))
        return Codes(typed: "\(name)-\(typed.prefix(4))-\(typed.suffix(4))", long: name + long, expires: expires)
    }

    /// Tries a code, which can be used once.
    package mutating func redeem(_ code: String, from network: String, at now: BootInstant) -> Verdict {
        open.removeAll { $0.expires <= now }
        if let past = tries[network], past.since.advanced(by: Self.networkPeriod) <= now { tries[network] = nil }
        guard tries[network]?.count ?? 0 < Self.maximumWrongTriesOfNetwork else { return .tooManyTries }
        guard let text = Self.normalized(code),
            let index = open.firstIndex(where: { $0.name == String(text.prefix(Self.nameCount)) })
        else {
            noteWrong(network, at: now)
            return .wrong
        }
        let secret = String(text.dropFirst(Self.nameCount))
        let expected = secret.utf8.count == Self.longCount ? open[index].long : open[index].typed
        guard Self.isEqual(secret, expected) else {
            noteWrong(network, at: now)
            open[index].wrongTries += 1
            if open[index].wrongTries >= Self.maximumWrongTries { open.remove(at: index) }
            return .wrong
        }
        open.remove(at: index)
        return .valid
    }

    private mutating func noteWrong(_ network: String, at now: BootInstant) {
        if tries[network] == nil, tries.count >= Self.maximumNetworks,
            let oldest = tries.min(by: { $0.value.since < $1.value.since })
        {
            tries[oldest.key] = nil
        }
        tries[network, default: Tries(count: 0, since: now)].count += 1
    }

    /// The code as it is compared; nil if it can't be one.
    package static func normalized(_ code: String) -> String? {
        guard code.utf8.count <= 64 else { return nil }
        var text: [UInt8] = []
        for byte in code.utf8 {
            let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte - 32 : byte
            switch upper {
            case UInt8(ascii: "-"), UInt8(ascii: " "): continue
            case UInt8(ascii: "O"): text.append(UInt8(ascii: "0"))
            case UInt8(ascii: "I"), UInt8(ascii: "L"): text.append(UInt8(ascii: "1"))
            default:
                guard digits.contains(upper) else { return nil }
                text.append(upper)
            }
        }
        guard text.count == nameCount + typedCount || text.count == nameCount + longCount else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    /// Takes the same time for any wrong text of that length.
    private static func isEqual(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        guard one.count == other.count else { return false }
        var difference: UInt8 = 0
        for index in one.indices { difference |= one[index] ^ other[index] }
        return difference == 0
    }
}

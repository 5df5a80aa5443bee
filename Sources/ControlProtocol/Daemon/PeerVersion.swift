/// What a daemon does for handlers, and a handler's library uses, by name. Each side tells the other its version and these
/// names, so that it can say what the other one lacks. A new capability gets a name here; a name never changes its meaning.
package enum HandlerFeature: String, CaseIterable, Sendable {
    /// The user's actions (`answer`, `hold` and so on), which the handler fulfils or fails.
    case actions
    /// The activation of the call's audio session.
    case audio
    /// Taking over a call that has lost its handler.
    case claim
    /// The device tokens, for the app's server.
    case credentials
    /// What the app's vendor knows the device by.
    case identity
    /// The network path, of the device and of each call.
    case path
    /// Whether protected data can be read.
    case protection
    /// The reachability of the app's servers.
    case reachability
    /// The end of a restoration, before which a crash of the handler counts against the app's stored state.
    case restoration
    /// Block lists and caller names.
    case screening
    /// The app's stored state.
    case state
}

/// The version of one side of the control socket.
package struct PeerVersion: Hashable, Sendable {
    /// This side, as this source was built.
    package static let own = PeerVersion(
        version: ProductVersion.current, features: HandlerFeature.allCases.map(\.rawValue).sorted())

    /// Maximum bytes of a version, and of a feature's name.
    private static let maximumWordBytes = 32
    /// Maximum number of features that are read of another side.
    private static let maximumFeatures = 64

    /// A version as defined by semver.org.
    package let version: String
    /// Names of ``HandlerFeature``, sorted; of a later version, names that are unknown here.
    package let features: [String]

    package init(version: String, features: [String]) {
        self.version = version
        self.features = features
    }

    /// The features that this version has and the other one lacks.
    package func missing(in other: PeerVersion) -> [String] { features.filter { !other.features.contains($0) } }

    // MARK: - In a request

    private static let product = "RingwakeKit/"

    /// The field `User-Agent` of RingwakeKit's requests (RFC 9110 section 10.1.5): `RingwakeKit/0.1.0 (actions; claim)`.
    package var userAgent: String { "\(Self.product)\(version) (\(features.joined(separator: "; ")))" }

    /// Nil if another program sent it.
    package init?(userAgent: String) {
        guard userAgent.hasPrefix(Self.product) else { return nil }
        let rest = userAgent.utf8.dropFirst(Self.product.utf8.count)
        guard let version = Self.word(rest.prefix { $0 != UInt8(ascii: " ") }) else { return nil }
        let comment = rest.dropFirst(version.utf8.count + 1)
        guard comment.first == UInt8(ascii: "("), comment.last == UInt8(ascii: ")") else { return nil }
        let names = comment.dropFirst().dropLast().split(
            separator: UInt8(ascii: ";"), maxSplits: Self.maximumFeatures, omittingEmptySubsequences: true)
        let features = names.prefix(Self.maximumFeatures).compactMap {
            Self.word($0.drop { $0 == UInt8(ascii: " ") })
        }
        self.init(version: version, features: Set(features).sorted())
    }

    /// A short text of letters, digits, dots, hyphens and plus signs; nil if it is something else.
    private static func word(_ bytes: Substring.UTF8View) -> String? {
        guard 1...maximumWordBytes ~= bytes.count else { return nil }
        let isPlain = bytes.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"):
                true
            default: false
            }
        }
        return isPlain ? String(Substring(bytes)) : nil
    }
}

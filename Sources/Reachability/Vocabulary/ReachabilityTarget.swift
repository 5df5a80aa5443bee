/// A destination.
public enum ReachabilityTarget: Hashable, Sendable {
    /// Anything: there is a default route, for either family.
    case any
    /// One address. `0.0.0.0` and `::` mean ``any``.
    case address(IPAddress)
    /// One address, from an address of this machine.
    case pair(local: IPAddress, remote: IPAddress)
    /// A host name: the best of its addresses.
    case host(String)

    /// Longest host name, without a dot at its end (RFC 1035 section 2.3.4).
    private static let maximumNameLength = 253
    private static let maximumLabelLength = 63

    /// Reads `any`, an address, `LOCAL,REMOTE`, or a host name; nil when it is none of these.
    public init?(_ text: String) {
        if text.lowercased() == "any" {
            self = .any
        } else if let address = IPAddress(text) {
            self = address.isUnspecified ? .any : .address(address)
        } else if text.contains(",") {
            let ends = text.split(separator: ",", omittingEmptySubsequences: false).map { IPAddress(String($0)) }
            guard ends.count == 2, let local = ends[0], let remote = ends[1], local.family == remote.family else {
                return nil
            }
            self = .pair(local: local, remote: remote)
        } else if Self.isHostName(text) {
            self = .host(text.lowercased())
        } else {
            return nil
        }
    }

    /// Labels of 1 to 63 letters, digits, hyphens and underscores. The last one isn't a number, so that name servers
    /// aren't asked for a mistyped IPv4 address.
    private static func isHostName(_ text: String) -> Bool {
        let name = text.hasSuffix(".") ? text.dropLast() : text[...]
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard name.utf8.count <= maximumNameLength, let last = labels.last else { return false }
        guard !last.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
        return labels.allSatisfy { label in
            let bytes = label.utf8
            guard (1...maximumLabelLength).contains(bytes.count), bytes.first != 0x2d, bytes.last != 0x2d else {
                return false
            }
            return bytes.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
                    || $0 == 0x2d || $0 == 0x5f
            }
        }
    }
}

extension ReachabilityTarget {
    /// The name of a host; nil for other targets.
    var hostName: String? { if case .host(let name) = self { name } else { nil } }
}

extension ReachabilityTarget: CustomStringConvertible, LosslessStringConvertible {
    /// The text from which ``init(_:)`` makes the same target.
    public var description: String {
        switch self {
        case .any: "any"
        case .address(let address): address.description
        case .pair(let local, let remote): "\(local),\(remote)"
        case .host(let name): name
        }
    }
}

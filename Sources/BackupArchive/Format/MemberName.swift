/// The name of a file in a backup: `store/store.db`.
///
/// It is relative and of printable ASCII, so that it means the same in every locale and can't leave a directory. A file whose name
/// doesn't fit is stored as `files/N`; its manifest entry has the path that it was read from.
package struct MemberName: Hashable, Sendable, CustomStringConvertible {
    /// Limits of file systems, in bytes; the first with room for the path of a directory.
    private static let maximumBytes = 1024
    private static let maximumComponentBytes = 255

    package let description: String

    /// Nil for an absolute name, an empty one, `.` and `..` anywhere, and characters other than printable ASCII without
    /// the backslash.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maximumBytes,
            bytes.allSatisfy({ (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\\") })
        else { return nil }
        let components = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for component in components {
            guard (1...Self.maximumComponentBytes).contains(component.count),
                !component.allSatisfy({ $0 == UInt8(ascii: ".") }) || component.count > 2
            else { return nil }
        }
        description = text
    }

    /// The folders, from the top down, and the name in the last one.
    var components: [String] { description.split(separator: "/").map { String($0) } }

    /// The first member, which describes the others.
    static let manifest = MemberName(known: "manifest.json")
    /// The second member: the manifest's checksum, as `sha256sum --check` reads it.
    static let manifestDigest = MemberName(known: "manifest.sha256")
    /// The member with the keys.
    static let sealedKeys = MemberName(known: "keys.sealed")

    private init(known text: String) {
        description = text
    }

    /// A stranger's name for a message: short, and without what a terminal could take for a command.
    static func shown(_ text: String) -> String { "'\(printable(text))'" }

    /// At most 200 characters of printable ASCII.
    static func printable(_ text: String) -> String {
        String(text.unicodeScalars.prefix(200).map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" })
    }
}

extension MemberName: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let name = MemberName(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\(MemberName.shown(text)) is no name of a member")
        }
        self = name
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// The bundle id of an app, such as `com.example.phone`. It names the app's configuration, its topic and its files.
package struct AppID: Hashable, Sendable, CodedAsText {
    package let rawValue: String

    /// The maximum size of an app id in bytes: with an extension it becomes a file name, which may have 255 bytes.
    package static let maximumBytes = 200

    /// Accepts what Apple accepts as a bundle id: letters, digits, hyphens and dots, not starting or ending with a dot,
    /// and without two dots in a row. So a file name from it cannot leave its folder.
    ///
    /// See "CFBundleIdentifier", Apple's Bundle Resources reference.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty, bytes.count <= AppID.maximumBytes else { return nil }
        var previous = UInt8(ascii: ".")
        for byte in bytes {
            guard byte.isNameByte, byte != UInt8(ascii: ".") || previous != UInt8(ascii: ".") else { return nil }
            previous = byte
        }
        guard previous != UInt8(ascii: ".") else { return nil }
        rawValue = text
    }

    package static let textName = "a bundle id"
    package var description: String { rawValue }
}

/// The id of a call within its app: from the payload if the app maps one, otherwise the id of its push.
package struct CallID: Hashable, Sendable, Codable, CustomStringConvertible {
    package let rawValue: String

    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    package var description: String { rawValue }

    // Compare bytes, as the journal does: Swift treats canonically equivalent texts as equal.
    package static func == (left: CallID, right: CallID) -> Bool {
        let (left, right) = (left.rawValue.utf8.span, right.rawValue.utf8.span)
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }

    package func hash(into hasher: inout Hasher) {
        let bytes = rawValue.utf8.span
        hasher.combine(bytes.count)
        // Eight bytes at a time: the hasher takes as long for one byte.
        var word: UInt64 = 0
        for index in bytes.indices {
            word = word << 8 | UInt64(bytes[index])
            if index & 7 == 7 { hasher.combine(word) }
        }
        hasher.combine(word)
    }

    package init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// The key of a call on this device. Two apps may use the same call id, so that no vendor can suppress another's call.
package struct CallKey: Hashable, Sendable, Codable, CustomStringConvertible {
    package let app: AppID
    package let id: CallID

    package init(app: AppID, id: CallID) {
        self.app = app
        self.id = id
    }

    package var description: String { "\(app)/\(id)" }
}

extension String {
    /// A push id as it is compared: a UUID, whose upper and lower case mean the same (RFC 9562 section 4). Most senders
    /// write lower case, which costs no copy.
    package var canonicalPushID: String {
        utf8.contains { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) } ? lowercased() : self
    }
}

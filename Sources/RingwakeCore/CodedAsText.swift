/// A value that is one text in JSON and in the store: its description.
package protocol CodedAsText: Codable, LosslessStringConvertible {
    /// What a text is that makes such a value, for errors: `a bundle id`.
    static var textName: String { get }
}

extension CodedAsText {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let value = Self(text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "'\(text)' is not \(Self.textName)"))
        }
        self = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

internal import FoundationEssentials

/// A class of objects that an app stores: a name, which stays when the type is renamed, and a type.
///
///     let classes: [RestorationClass] = [.init("call", OpenCall.self), .init("settings", Settings.self)]
public struct RestorationClass: Sendable {
    /// The name in the stored state.
    public let name: String
    let type: ObjectIdentifier
    let decode: @Sendable (KeyedDecodingContainer<SavedDocument.Entry.CodingKeys>) throws -> any Sendable

    /// - Parameters:
    ///   - name: what the class is called in the stored state. Don't use one again for something else.
    ///   - type: the type of its objects.
    public init<Value: Codable & Sendable>(_ name: String, _ type: Value.Type) {
        self.name = name
        self.type = ObjectIdentifier(type)
        decode = { try $0.decode(Value.self, forKey: .data) }
    }
}

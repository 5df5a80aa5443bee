internal import ControlProtocol
internal import FoundationEssentials

/// The app's stored state, as one JSON document:
///
///     {"objects":{"main":{"class":"settings","data":{...}}},"schema":1,"version":1}
struct SavedDocument: Codable {
    /// The version of this layout: the one that is written, and the newest that is read.
    static let schema = 1

    /// One object.
    struct Entry: Codable {
        enum CodingKeys: String, CodingKey {
            case name = "class"
            case data
        }

        let name: String
        /// What is stored; nil when it was read and left out.
        private let value: (any Encodable)?
        /// What was read; nil when it was left out.
        let restored: (any Sendable)?
        let reason: RestoredObjects.LeftOut.Reason?

        init(_ value: any Encodable, class name: String) {
            (self.name, self.value, restored, reason) = (name, value, nil, nil)
        }

        /// Never throws: an object that can't be read must not cost the others.
        init(from decoder: any Decoder) {
            let container = try? decoder.container(keyedBy: CodingKeys.self)
            name = (try? container?.decode(String.self, forKey: .name)) ?? ""
            value = nil
            let known = SavedDocument.classes.flatMap { decoder.userInfo[$0] as? [String: RestorationClass] }
            guard let container, let type = known?[name] else {
                (restored, reason) = (nil, .unknownClass)
                return
            }
            restored = try? type.decode(container)
            reason = restored == nil ? .undecodable : nil
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(name, forKey: .name)
            if let value { try container.encode(value, forKey: .data) }
        }
    }

    private static let classes = CodingUserInfoKey(rawValue: "org.ringwake.classes")

    private var schema = SavedDocument.schema
    private let version: Int
    private let objects: [String: Entry]

    /// The bytes of these objects.
    ///
    /// - Throws: `invalidRequest` if an object's type has no class, or can't be encoded; `limitReached` if they are more
    ///   than the daemon stores.
    static func encode(
        _ objects: [String: any Codable & Sendable], _ classes: [RestorationClass], version: Int
    ) throws(RingwakeKitError) -> [UInt8] {
        var entries: [String: Entry] = [:]
        for (identifier, object) in objects {
            let type = ObjectIdentifier(Swift.type(of: object))
            guard let known = classes.first(where: { $0.type == type }) else {
                throw RingwakeKitError(
                    .invalidRequest, "'\(identifier)' is of the type \(Swift.type(of: object)), which has no class")
            }
            entries[identifier] = Entry(object, class: known.name)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let bytes: [UInt8]
        do {
            bytes = Array(try encoder.encode(SavedDocument(version: version, objects: entries)))
        } catch {
            throw RingwakeKitError(.invalidRequest, "the objects cannot be encoded: \(error)")
        }
        guard bytes.count <= ControlAPI.maximumStateBytes else {
            throw RingwakeKitError(
                .limitReached,
                "the objects have \(bytes.count) bytes; the daemon stores at most \(ControlAPI.maximumStateBytes)")
        }
        return bytes
    }

    /// The objects of these bytes that are known.
    ///
    /// - Throws: `badAnswer` if another program, or a later version, wrote them.
    static func decode(
        _ bytes: [UInt8], _ classes: [RestorationClass], knowing isKnown: (String) -> Bool
    ) throws(RingwakeKitError) -> RestoredObjects {
        let decoder = JSONDecoder()
        if let key = Self.classes {
            decoder.userInfo[key] = Dictionary(classes.map { ($0.name, $0) }) { first, _ in first }
        }
        let document: SavedDocument
        do {
            document = try decoder.decode(SavedDocument.self, from: Data(bytes))
        } catch {
            throw RingwakeKitError(.badAnswer, "the stored state is not as StateRestoration writes it: \(error)")
        }
        guard document.schema <= schema else {
            throw RingwakeKitError(
                .badAnswer, "the stored state has schema \(document.schema), and this library reads up to \(schema)")
        }
        var objects: [String: any Sendable] = [:]
        var leftOut: [RestoredObjects.LeftOut] = []
        for (identifier, entry) in document.objects.sorted(by: { $0.key < $1.key }) {
            let reason = isKnown(identifier) ? entry.reason : .unknownIdentifier
            if let reason {
                leftOut.append(.init(identifier: identifier, className: entry.name, reason: reason))
            } else {
                objects[identifier] = entry.restored
            }
        }
        return RestoredObjects(version: document.version, objects: objects, leftOut: leftOut)
    }
}

/// What ``StateRestoration/restore(knowing:_:)`` found: the objects that the app still understands, and what was left out.
public struct RestoredObjects: Sendable {
    /// An object that is not restored. The next ``StateRestoration/save(_:)`` forgets it.
    public struct LeftOut: Hashable, Sendable, CustomStringConvertible {
        /// Why an object is left out.
        public struct Reason: Vocabulary {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            /// The app registers no class of this name any more.
            public static let unknownClass = Reason(rawValue: "unknownClass")
            /// The app doesn't know the identifier any more.
            public static let unknownIdentifier = Reason(rawValue: "unknownIdentifier")
            /// The class has changed, so that its type can't be decoded any more.
            public static let undecodable = Reason(rawValue: "undecodable")
        }

        public let identifier: String
        /// The name of its class; empty if it has none.
        public let className: String
        public let reason: Reason

        public var description: String { "\(identifier) (\(className)): \(reason.rawValue)" }
    }

    /// The version of the app's objects that were stored; nil if nothing was stored.
    public let version: Int?
    /// What was left out, by identifier.
    public let leftOut: [LeftOut]
    private let objects: [String: any Sendable]

    init(version: Int? = nil, objects: [String: any Sendable] = [:], leftOut: [LeftOut] = []) {
        self.version = version
        self.objects = objects
        self.leftOut = leftOut
    }

    /// The identifiers of the restored objects, sorted.
    public var identifiers: [String] { objects.keys.sorted() }

    /// The object with this identifier; nil if there is none of this type.
    public func object<Value: Sendable>(_ identifier: String, as type: Value.Type = Value.self) -> Value? {
        objects[identifier] as? Value
    }

    /// All objects of this type, by identifier.
    public func objects<Value: Sendable>(of type: Value.Type = Value.self) -> [String: Value] {
        objects.compactMapValues { $0 as? Value }
    }
}

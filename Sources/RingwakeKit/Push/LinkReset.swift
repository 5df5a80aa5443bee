internal import ControlProtocol

/// The device and its gateway disagree about the device's registrations, because one of them was restored from a backup or
/// set up anew: what the disagreement is, which link it is about, and what is done about it. Realm calls this a client
/// reset.
///
/// The daemon settles it; the app has nothing to do but to send new credentials to its sender, if
/// ``PushRegistryEvent/credentialsUpdated(_:)`` follows. Pushes, calls and all streams go on meanwhile.
public struct LinkReset: Error, Hashable, Sendable {
    /// Why the two disagree.
    public struct Code: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The gateway has another store than before.
        public static let otherStore = Code(rawValue: "other-store")
        /// The gateway has later registrations than the device.
        public static let gatewayAhead = Code(rawValue: "gateway-ahead")
        /// The gateway refuses the device's registrations.
        public static let refused = Code(rawValue: "refused")
    }

    /// What is done: `link.on_disagreement` of ringwaked.toml, or what a person has chosen.
    public struct Action: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The device keeps what only it has, and takes what only the gateway has.
        public static let recover = Action(rawValue: "recover")
        /// The same; if the gateway refuses that, as ``discard``.
        public static let recoverOrDiscard = Action(rawValue: "recover-or-discard")
        /// The device gives up what only it has.
        public static let discard = Action(rawValue: "discard")
        /// A person decides.
        public static let manual = Action(rawValue: "manual")
    }

    /// How far it is.
    public struct Stage: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Nothing is changed yet. ``copies`` has the registrations of both.
        public static let begun = Stage(rawValue: "begun")
        /// It waits for a person: ``Action/manual``.
        public static let waiting = Stage(rawValue: "waiting")
        /// The two agree. ``copies`` has the registrations before and after.
        public static let recovered = Stage(rawValue: "recovered")
        /// The same, after ``Action/discard``.
        public static let discarded = Stage(rawValue: "discarded")
        /// It could not be settled, and is tried again at the next link.
        public static let failed = Stage(rawValue: "failed")
    }

    /// The link that is reset.
    public struct Session: Hashable, Sendable {
        /// The gateway as `host:port`.
        public let gateway: String?
        /// The id of the device's key.
        public let device: String?
    }

    public let code: Code
    public let session: Session
    public let action: Action
    public let stage: Stage
    /// Why, for a person.
    public let message: String
    /// The folder with read-only copies of the registrations, `before.json`, `gateway.json` and `after.json`, which the
    /// daemon's user may read. Nil before they are made.
    public let copies: String?
}

extension LinkReset {
    init(_ event: EventMessage.LinkReset) {
        self.init(
            code: Code(rawValue: event.reset.code), session: Session(gateway: event.gateway, device: event.device),
            action: Action(rawValue: event.reset.mode), stage: Stage(rawValue: event.reset.result),
            message: event.reset.why, copies: event.reset.copies)
    }
}

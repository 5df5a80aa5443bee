internal import DBus

/// The part of the MPRIS D-Bus Interface Specification 2.2 that is used here.
enum MPRIS {
    static let namePrefix = "org.mpris.MediaPlayer2."
    static let path = "/org/mpris/MediaPlayer2"
    static let player = "org.mpris.MediaPlayer2.Player"
    static let properties = "org.freedesktop.DBus.Properties"
    /// A proxy for the last used player: it could be paused as one player and resumed as another.
    static let proxy = "org.mpris.MediaPlayer2.playerctld"

    enum Status: String {
        case playing = "Playing"
        case paused = "Paused"
        case stopped = "Stopped"
    }

    /// Matches changes of this player's properties.
    static func changes(of owner: String) -> DBusMatch {
        DBusMatch(
            sender: owner, path: path, interface: properties, member: "PropertiesChanged", firstArgument: player)
    }

    /// The change of the playback status in such a signal.
    enum StatusChange {
        case none
        case status(String)
        /// It changed, and has to be read.
        case invalidated

        init(_ signal: DBusSignal) {
            self = .none
            guard signal.arguments.count > 2 else { return }
            if let status = signal.arguments[1]["PlaybackStatus"]?.text {
                self = .status(status)
            } else if signal.arguments[2].elements?.contains(where: { $0.text == "PlaybackStatus" }) == true {
                self = .invalidated
            }
        }
    }

    /// The bus itself (D-Bus Specification, "Message Bus Messages").
    enum Bus {
        static let name = "org.freedesktop.DBus"
        static let path = "/org/freedesktop/DBus"
    }
}

extension PlayerStep {
    /// Calls a method of the bus that returns a value.
    func askBus(_ member: String, _ arguments: [DBusValue] = [], _ body: @escaping (DBusValue?) -> Void) {
        call(MPRIS.Bus.name, MPRIS.Bus.path, MPRIS.Bus.name, member, arguments) { body(Self.first($0)) }
    }

    /// The owner of a name; nil where there is none, or the bus does not answer.
    func askOwner(of name: String, _ body: @escaping (String?) -> Void) {
        askBus("GetNameOwner", [.string(name)]) { body($0?.text) }
    }

    /// Reads a property of the player on this connection; nil where it has none, or does not answer.
    func askPlayer(_ owner: String, _ property: String, _ body: @escaping (DBusValue?) -> Void) {
        call(owner, MPRIS.path, MPRIS.properties, "Get", [.string(MPRIS.player), .string(property)]) {
            body(Self.first($0))
        }
    }

    func askStatus(_ owner: String, _ body: @escaping (MPRIS.Status?) -> Void) {
        askPlayer(owner, "PlaybackStatus") { body($0?.text.flatMap(MPRIS.Status.init)) }
    }

    /// The current track; nil where the player names none.
    func askTrack(_ owner: String, _ body: @escaping (String?) -> Void) {
        askPlayer(owner, "Metadata") { metadata in
            // Some players send a string instead of an object path.
            body((metadata?["mpris:trackid"]?.text).map { String($0.prefix(MPRISPlayers.maximumTrackCharacters)) })
        }
    }

    /// Sends the player a command; false when it refuses or does not answer.
    func command(_ owner: String, _ member: String, _ body: @escaping (Bool) -> Void) {
        call(owner, MPRIS.path, MPRIS.player, member) { result in
            if case .success = result { body(true) } else { body(false) }
        }
    }

    private static func first(_ result: Result<[DBusValue], DBusError>) -> DBusValue? {
        if case .success(let values) = result { values.first?.unwrapped } else { nil }
    }
}

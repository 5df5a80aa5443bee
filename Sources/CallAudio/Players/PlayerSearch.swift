internal import DBus

/// Finds the players that play.
///
/// The closures of its step keep it alive.
final class PlayerSearch {
    private let bus: String
    private let step: PlayerStep
    /// Connections that were checked: some players have several names.
    private var seen: Set<String> = []

    /// - Parameter bus: The id of the bus.
    init(bus: String, _ step: PlayerStep) {
        self.bus = bus
        self.step = step
    }

    /// Adds the player of this name if it plays.
    func look(at name: String) {
        step.begin(name)
        step.askOwner(of: name) { [self] owner in
            guard let owner, seen.insert(owner).inserted else { return step.end(name) }
            step.askStatus(owner) { [self] status in
                guard status == .playing else { return step.end(name) }
                describe(name, owner)
            }
        }
    }

    private func describe(_ name: String, _ owner: String) {
        var player = MediaPlayer(
            name: name, owner: PlayerOwner(connection: owner, bus: bus).text, process: nil, track: nil)
        step.note(name, player)
        // The bus answers before the player can.
        step.askBus("GetConnectionUnixProcessID", [.string(owner)]) { [self] process in
            player.process = process?.integer()
            step.note(name, player)
        }
        step.askTrack(owner) { [self] track in
            player.track = track
            step.note(name, player)
            step.end(name)
        }
    }
}

/// The owner of a player's name: a connection, which is unique on its own bus only. A restarted bus gives the same
/// names to others.
struct PlayerOwner: Equatable {
    /// Such as `:1.42`.
    var connection: String
    /// The id of the bus: 32 hex digits (D-Bus Specification, `org.freedesktop.DBus.GetId`).
    var bus: String

    init(connection: String, bus: String) {
        self.connection = connection
        self.bus = bus
    }

    /// - Returns: nil for a text that ``text`` never gives.
    init?(_ text: String) {
        guard let sign = text.lastIndex(of: "@") else { return nil }
        connection = String(text[..<sign])
        bus = String(text[text.index(after: sign)...])
        guard DBusNames.isBusName(connection), !bus.isEmpty else { return nil }
    }

    var text: String { "\(connection)@\(bus)" }
}

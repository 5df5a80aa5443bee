internal import DBus

/// Looks which players play.
///
/// It is kept alive by what its step waits for.
final class PlayerSearch {
    private let bus: String
    private let step: PlayerStep
    /// Connections that have been looked at: some players have several names.
    private var seen: Set<String> = []

    /// - Parameter bus: What the bus calls itself.
    init(bus: String, _ step: PlayerStep) {
        self.bus = bus
        self.step = step
    }

    /// Notes the player of this name if it plays.
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
        // The bus itself answers before the player can.
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

/// Who owned a player's name: a connection, which means something on its own bus only. A bus that was started anew
/// gives the same names to others.
struct PlayerOwner: Equatable {
    /// Such as `:1.42`.
    var connection: String
    /// What the bus calls itself: 32 hex digits (D-Bus Specification, `org.freedesktop.DBus.GetId`).
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

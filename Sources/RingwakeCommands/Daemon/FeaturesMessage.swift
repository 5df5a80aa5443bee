import ControlProtocol
import RunLoop

/// What `ringwake status --features` prints: what the system offers.
struct FeaturesMessage: Encodable, Equatable {
    var schema = ControlAPI.schema
    let features: [FacilityMessage]

    /// What the kernel offered at the daemon's start, and the services as they are now: these come and go.
    init(_ status: StatusMessage) {
        features = status.facilities + FeaturesMessage.services(status)
    }

    private static func services(_ status: StatusMessage) -> [FacilityMessage] {
        func why(bus: String) -> String? {
            guard let bus = status.buses[bus], bus.state != "connected" else { return nil }
            return bus.why ?? bus.state
        }
        let losses = [
            "system": "handlers that are units or names on it are not woken, and calls of the modem are not noticed",
            "session": "handlers that are names on it are not woken",
        ]
        let buses = status.buses.keys.sorted().map { bus in
            Facility(name: "\(bus)-bus", why: why(bus: bus), loss: losses[bus] ?? "what needs it does not work")
        }
        let logind = Facility(
            name: "logind", why: status.awake.why ?? why(bus: "system"),
            loss: "the machine may fall asleep while a call rings, unless the kernel's wake lock keeps it awake")
        let audio = status.audio.map { audio in
            let isThere = ["connected", "idle", "restoring", "starting"].contains(audio.state)
            return Facility(
                name: "audio-server", why: isThere ? nil : "\(audio.state), with the back end '\(audio.backend)'",
                loss: "calls have no audio session: other programs' sound plays on during a call")
        }
        return (buses + [logind] + [audio].compactMap { $0 }).map { FacilityMessage($0) }
    }

    /// One line each.
    func text(style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        for feature in features {
            let why = feature.why.map { " (\($0))" } ?? ""
            table.add([feature.name, feature.available ? "there" : "missing\(why): \(feature.loss)"])
        }
        return table.lines().map { TerminalText.printable($0) + "\n" }.joined()
    }
}

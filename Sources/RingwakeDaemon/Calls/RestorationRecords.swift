internal import RingwakeCore

/// The path of what is written down of one object.
nonisolated enum RestorationPath: Equatable {
    case handlers(AppID)
    case strikes(AppID)
    case state(AppID)

    /// Do not disturb.
    static let doNotDisturb = "device/dnd"

    /// The version of this kind of row that is written, and the versions that can be read.
    var version: Int {
        switch self {
        case .handlers, .strikes, .state: 2
        }
    }

    var text: String {
        switch self {
        case .handlers(let app): "app/\(app)/handlers"
        case .strikes(let app): "app/\(app)/strikes"
        case .state(let app): "app/\(app)/state"
        }
    }

    /// Nil for a path that names none of these.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts[0] == "app", let app = AppID(parts[1]) else { return nil }
        switch parts[2] {
        case "handlers": self = .handlers(app)
        case "strikes": self = .strikes(app)
        case "state": self = .state(app)
        default: return nil
        }
    }
}

/// The strikes of an app as they are written down: by their age, so that they mean the same in every boot.
nonisolated struct StrikeRecord: Codable, Equatable {
    private struct Entry: Codable, Equatable {
        let failure: HandlerFailure
        let call: CallID
        /// When it was written down.
        let ageMs: Int64

        enum CodingKeys: String, CodingKey {
            case failure, call, ageMs
        }
    }

    let isStruckOut: Bool
    private let entries: [Entry]
    /// How long ago it was written down.
    var age = Duration.zero

    private enum CodingKeys: String, CodingKey {
        case isStruckOut, entries
    }

    init(_ strikes: [Strike], isStruckOut: Bool, at now: BootInstant) {
        self.isStruckOut = isStruckOut
        entries = strikes.map { strike in
            Entry(failure: strike.failure, call: strike.call, ageMs: strike.at.duration(to: now).milliseconds)
        }
    }

    /// The strikes, on the clock of this boot.
    func strikes(at now: BootInstant) -> [Strike] {
        entries.map { entry in
            // What claims to come from the future came now.
            let age = Duration.milliseconds(max(0, min(entry.ageMs, 366 * 86_400_000))) + max(age, .zero)
            return Strike(at: now.advanced(by: .zero - age), failure: entry.failure, call: entry.call)
        }
    }
}

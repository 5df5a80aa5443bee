internal import CallService
internal import HandlerActivation
internal import RingwakeCore

/// Path of a stored row.
nonisolated enum RestorationPath: Equatable {
    case handlers(AppID)
    case strikes(AppID)
    case state(AppID)
    case restoration(AppID)
    case doNotDisturb

    /// Version of this kind of row: the one that is written, and the only one that is read.
    var version: Int {
        switch self {
        case .handlers, .strikes, .state: 2
        case .restoration: 1
        case .doNotDisturb: DoNotDisturb.version
        }
    }

    var text: String {
        switch self {
        case .handlers(let app): "app/\(app)/handlers"
        case .strikes(let app): "app/\(app)/strikes"
        case .state(let app): "app/\(app)/state"
        case .restoration(let app): "app/\(app)/restoration"
        case .doNotDisturb: "device/dnd"
        }
    }

    /// The app whose stored state this is; nil for another row.
    var savingApp: AppID? {
        if case .state(let app) = self { app } else { nil }
    }

    /// Nil for an unknown path.
    init?(_ text: String) {
        guard text != RestorationPath.doNotDisturb.text else {
            self = .doNotDisturb
            return
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts[0] == "app", let app = AppID(parts[1]) else { return nil }
        switch parts[2] {
        case "handlers": self = .handlers(app)
        case "strikes": self = .strikes(app)
        case "state": self = .state(app)
        case "restoration": self = .restoration(app)
        default: return nil
        }
    }
}

/// How the restoration of an app's state went.
nonisolated struct RestorationRecord: Codable, Equatable {
    private struct Drop: Codable, Equatable {
        let reason: String
        /// In ms since 1970.
        let at: Int64

        enum CodingKeys: String, CodingKey {
            case reason, at
        }
    }

    private let crashes: Int
    private let drop: Drop?

    enum CodingKeys: String, CodingKey {
        case crashes
        case drop = "dropped"
    }

    init(_ record: SavedStates.Record) {
        crashes = record.crashes
        drop = record.drop.map { Drop(reason: $0.reason.rawValue, at: $0.at) }
    }

    /// Nil if nobody wrote such numbers.
    var record: SavedStates.Record? {
        guard (0..<SavedStates.maximumCrashes).contains(crashes) else { return nil }
        let known = drop.flatMap { drop in
            SavedStates.Drop.Reason(rawValue: drop.reason).map { SavedStates.Drop($0, at: drop.at) }
        }
        return SavedStates.Record(crashes: crashes, drop: known)
    }
}

/// The stored strikes of an app. They are stored by age, so they stay valid across boots.
nonisolated struct StrikeRecord: Codable, Equatable {
    private struct Entry: Codable, Equatable {
        let failure: HandlerFailure
        let call: CallID
        /// Age when the record was written.
        let ageMs: Int64

        enum CodingKeys: String, CodingKey {
            case failure, call, ageMs
        }
    }

    let isStruckOut: Bool
    private let entries: [Entry]
    /// Time since the record was written.
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

    /// The strikes in this boot's time.
    func strikes(at now: BootInstant) -> [Strike] {
        entries.map { entry in
            // Limit the stored age to between 0 and a year.
            let age = Duration.milliseconds(max(0, min(entry.ageMs, 366 * 86_400_000))) + max(age, .zero)
            return Strike(at: now.advanced(by: .zero - age), failure: entry.failure, call: entry.call)
        }
    }
}

/// A stored handler, to find it again after the daemon restarts.
nonisolated struct HandlerRecord: Codable, Equatable {
    private struct Wake: Codable, Equatable {
        let number: UInt64

        enum CodingKeys: String, CodingKey {
            case number
        }
    }

    private struct State: Codable, Equatable {
        let pid: Int32?
        let origin: CallKey?
        let cameByItself: Bool
        let isStopping: Bool

        enum CodingKeys: String, CodingKey {
            case pid, origin, cameByItself, isStopping
        }
    }

    private let start: Wake
    /// SHA-256 of the wake secret, in hex.
    let secretHash: String
    /// How to find the handler; nil if it can't be found.
    let mark: HandlerMark?
    private let doing: State

    enum CodingKeys: String, CodingKey {
        case start = "wake"
        case secretHash, mark
        case doing = "state"
    }

    init(wake: WakeID, secretHash: String, mark: HandlerMark?, state: HandlerLane.Handler) {
        start = Wake(number: wake.number)
        self.secretHash = secretHash
        self.mark = mark
        // The record may be made before the service has taken the event that the process runs.
        var pid = state.pid
        if pid == nil, case .process(let identity) = mark { pid = identity.pid }
        doing = State(
            pid: pid, origin: state.origin, cameByItself: state.cameByItself, isStopping: state.isStopping)
    }

    var wake: WakeID { WakeID(number: start.number) }

    /// The handler as the service restores it.
    var restored: RestoredHandler {
        var process: ProcessIdentity?
        if doing.cameByItself, case .process(let identity) = mark { process = identity }
        return RestoredHandler(
            secretHash: decodeHex(Array(secretHash.utf8)) ?? [], process: process, state: state)
    }

    /// The state of the handler. The calls' records say which calls it has, and connections end with the daemon.
    private var state: HandlerLane.Handler {
        HandlerLane.Handler(
            pid: doing.pid, origin: doing.origin, cameByItself: doing.cameByItself, isStopping: doing.isStopping)
    }
}

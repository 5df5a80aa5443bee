internal import DBus
internal import Logging
internal import RunLoop

/// The media players on the user's session bus, by MPRIS.
///
/// Connects to the bus when it is first needed, and again after a loss. In between it subscribes only to watched
/// players, so others cause no wakeups. ``playing(completion:)`` finds those that play, and only these are paused;
/// `PlayPause` is never used.
final class MPRISPlayers: MediaPlayers {
    /// Maximum number of players; others are never paused.
    static let maximumPlayers = 64
    /// Timeout of each step, over all players.
    static let stepTime = Duration.milliseconds(300)
    /// Timeout of connecting to the bus.
    static let busTimeout = Duration.seconds(2)
    /// Maximum characters of a track's id, which is compared and written to the journal; a longer one is cut.
    static let maximumTrackCharacters = 512

    private let address: DBusAddress
    private let environment: [String: String]
    private let runLoop: RunLoop
    private let logger: Logger
    private var bus: DBusConnection?
    var onChange: ((MediaPlayer, MediaPlayerChange) -> Void)?
    private var watches: [MediaPlayer: PlayerWatch] = [:]
    private var ends: [UInt64: () -> Void] = [:]
    private var nextStep: UInt64 = 0
    private var isClosed = false

    /// - Parameters:
    ///   - address: the address of the bus.
    ///   - environment: the variables that the address refers to.
    init(
        address: DBusAddress = .session, environment: [String: String], runLoop: RunLoop, logger: Logger
    ) {
        self.address = address
        self.environment = environment
        self.runLoop = runLoop
        self.logger = logger
    }

    /// Ends all steps and the connection. No completion follows. Idempotent.
    func close() {
        isClosed = true
        let ends = ends.values
        self.ends = [:]
        for end in ends { end() }
        watch([], paused: [])
        bus?.close()
        bus = nil
    }

    func playing(completion: @escaping ([MediaPlayer]) -> Void) {
        guard let step = step(completion) else { return }
        step.begin("")
        // A call waits for both, so they are asked at once; the bus answers in order.
        var bus: String?
        step.askBus("GetId") { bus = $0?.text }
        step.askBus("ListNames") { names in
            guard let bus else { return step.end("") }
            let search = PlayerSearch(bus: bus, step)
            for name in Self.players(among: names?.elements ?? []) { search.look(at: name) }
            step.end("")
        }
    }

    func pause(_ players: [MediaPlayer], completion: @escaping ([MediaPlayer]) -> Void) {
        each(players, completion) { player, owner, step in PlayerPause(player, owner, step).begin() }
    }

    func resume(_ players: [MediaPlayer], completion: @escaping (MediaPlayerAnswers) -> Void) {
        var answers = MediaPlayerAnswers()
        let end = { (silent: [MediaPlayer]) in
            answers.silent = silent
            completion(answers)
        }
        // Silent until everything is answered.
        each(players, areNoted: true, end) { player, owner, step in
            let settle = {
                step.drop(player.name)
                step.end(player.name)
            }
            step.askStatus(owner) { status in
                if status == .playing { answers.playing.append(player) }
                guard status == .paused else { return settle() }
                step.askTrack(owner) { track in
                    // A player without a track is known by its connection alone.
                    guard player.track == nil || track == player.track else { return settle() }
                    step.command(owner, "Play") { isDone in
                        if isDone { answers.resumed.append(player) }
                        settle()
                    }
                }
            }
        }
    }

    func watch(_ players: [MediaPlayer], paused: Set<MediaPlayer>) {
        let wanted = Set(players.prefix(Self.maximumPlayers))
        for player in watches.keys where !wanted.contains(player) {
            watches.removeValue(forKey: player)?.cancel()
        }
        guard !isClosed else { return }
        for player in wanted where watches[player] == nil {
            guard let owner = PlayerOwner(player.owner)?.connection, let bus = connection() else { continue }
            watches[player] = PlayerWatch(owner, isPaused: paused.contains(player), bus: bus) { [weak self] in
                self?.onChange?(player, $0)
            }
        }
    }

    // MARK: - Steps

    /// The players' names among those on a bus.
    static func players(among names: [DBusValue]) -> ArraySlice<String> {
        names.compactMap(\.text).filter { $0.hasPrefix(MPRIS.namePrefix) && $0 != MPRIS.proxy }.sorted()
            .prefix(maximumPlayers)
    }

    /// Runs `body` for each player whose name has the same owner on the same bus.
    /// - Parameter areNoted: the step's result contains each of them from the beginning.
    private func each(
        _ players: [MediaPlayer], areNoted: Bool = false, _ completion: @escaping ([MediaPlayer]) -> Void,
        _ body: @escaping (MediaPlayer, _ owner: String, PlayerStep) -> Void
    ) {
        let players = players.prefix(Self.maximumPlayers)
        guard let step = step(isNeeded: !players.isEmpty, completion) else { return }
        step.begin("")
        if areNoted { for player in players { step.note(player.name, player) } }
        step.askBus("GetId") { bus in
            for player in players {
                guard let owner = PlayerOwner(player.owner), owner.bus == bus?.text else {
                    step.drop(player.name)
                    continue
                }
                step.begin(player.name)
                step.askOwner(of: player.name) { present in
                    guard present == owner.connection else {
                        step.drop(player.name)
                        return step.end(player.name)
                    }
                    body(player, owner.connection, step)
                }
            }
            step.end("")
        }
    }

    /// A new step. Without a bus, or if none is needed: nil, and an empty result from the loop.
    private func step(
        isNeeded: Bool = true, _ completion: @escaping ([MediaPlayer]) -> Void
    ) -> PlayerStep? {
        guard !isClosed else { return nil }
        nextStep += 1
        let number = nextStep
        guard isNeeded, let bus = connection() else {
            ends[number] = {}
            runLoop.enqueue { [self] in
                if ends.removeValue(forKey: number) != nil { completion([]) }
            }
            return nil
        }
        let step = PlayerStep(bus: bus, runLoop: runLoop, time: Self.stepTime) { [self] found in
            if ends.removeValue(forKey: number) != nil { completion(found) }
        }
        ends[number] = { step.cancel() }
        return step
    }

    private func connection() -> DBusConnection? {
        if let bus, !bus.isClosed { return bus }
        do throws(DBusError) {
            let bus = try DBusConnection(
                address: address, environment: environment, runLoop: runLoop, logger: logger, label: "session",
                openingTimeout: Self.busTimeout)
            self.bus = bus
            return bus
        } catch {
            logger.debug("no session bus, so no players", metadata: ["error": "\(error)"])
            return nil
        }
    }
}

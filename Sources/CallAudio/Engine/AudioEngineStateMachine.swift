internal import RingwakeCore
internal import RunLoop

/// The life of an audio engine: a value that takes events with the time, and returns effects.
///
///               connected                                   lost: only the ledger is kept
///     absent(ledger, wishes) ------> present(ServerSession) ------> absent
///
///     new --start--> started --close--> closing --all undone, or after 2 s, or no server--> closed
///
/// Invariants:
/// - All state of a connection is in the ``ServerSession``, so a loss is one assignment.
/// - `ready` is reported before anything else about a server, and immediately if nothing has to be undone.
/// - Every request with a number is answered once: when it is done, refused, or the connection is lost.
/// - Nothing is reported after `closed`; the journal then contains the effects that could not be undone.
struct AudioEngineStateMachine {
    /// Timeout of undoing everything at the end.
    static let closingTime = Duration.seconds(2)

    private enum Server {
        case absent(EffectLedger, RouteWishes)
        case present(ServerSession)
    }

    private enum Life: Equatable {
        case new, started
        case closing(until: BootClock.Instant)
        case closed
    }

    private let surroundings: EngineSurroundings
    private var server: Server
    private var life = Life.new

    init(_ ledger: EffectLedger, _ surroundings: EngineSurroundings) {
        self.surroundings = surroundings
        server = .absent(ledger, RouteWishes())
    }

    var ledger: EffectLedger {
        switch server {
        case .absent(let ledger, _): ledger
        case .present(let session): session.ledger
        }
    }

    /// Whether effects are being undone, or wait for the server or for a player.
    var isRestoring: Bool {
        guard !ledger.isEmpty else { return false }
        return if case .present(let session) = server, life == .started { session.isRestoring } else { true }
    }

    var image: AudioServerImage? {
        if case .present(let session) = server { session.image } else { nil }
    }

    var nextDeadline: BootClock.Instant? {
        var deadlines: [BootClock.Instant?] = []
        if case .closing(let end) = life { deadlines.append(end) }
        if case .present(let session) = server, life != .closed { deadlines.append(session.nextDeadline) }
        return deadlines.compactMap(\.self).min()
    }

    mutating func handle(_ event: Event, at now: BootClock.Instant) -> [Effect] {
        var effects: [Effect] = []
        switch (event, life) {
        case (.start, .new):
            life = .started
            return (ledger.isEmpty ? [.ready(mended: 0)] : []) + [.connect]
        case (.close, .new), (.close, .started): life = .closing(until: now.advanced(by: Self.closingTime))
        case (.request, .started), (.server, .started), (.server, .closing), (.answered, _), (.covered, _),
            (.playersAnswered, _), (.playerChanged, _), (.deadlineReached, _), (.turnEnded, _):
            break
        default: return []
        }
        guard life != .closed else { return [] }
        switch server {
        case .absent(let ledger, let wishes): effects = absent(event, ledger, wishes, now)
        case .present(let session): effects = present(event, session, now)
        }
        return effects + closingEffects(now)
    }

    private mutating func absent(
        _ event: Event, _ ledger: EffectLedger, _ wishes: RouteWishes, _ now: BootClock.Instant
    ) -> [Effect] {
        switch event {
        case .server(.connected(let image)):
            var session = ServerSession(image, ledger, wishes, surroundings, at: now)
            let effects = session.takeEffects()
            server = .present(session)
            return effects
        case .server(.unavailable(let why)): return [.ready(mended: 0), .report(.unavailable(why))]
        case .server(.lost(let why)): return [.report(.unavailable(why))]
        case .request(.chooseOutput(let name, let number)):
            var wishes = wishes
            wishes.choose(name)
            server = .absent(ledger, wishes)
            return number.map { [.report(.outputChosen(number: $0, isKnown: true))] } ?? []
        case .request(.apply(let number, let plan, _)):
            // Without a server nothing is in force, so an empty plan counts as applied.
            guard !plan.isEmpty else { return [.report(.applied(number: number, AudioApplied(route: AudioRoute())))] }
            let error = AudioSessionError(.mediaServicesFailed, "no audio server is connected")
            return [.report(.refused(number: number, error))]
        case .playerChanged(let player, let change):
            var (players, ledger) = (PausedPlayers(), ledger)
            _ = players.changed(player, change, &ledger, interrupts: false)
            server = .absent(ledger, wishes)
            return players.takeEffects()
        default: return []
        }
    }

    private mutating func present(_ event: Event, _ former: ServerSession, _ now: BootClock.Instant) -> [Effect] {
        var session = former
        switch event {
        case .server(.lost(let why)):
            session.lost(AudioSessionError(.mediaServicesFailed, "the connection to the audio server broke: \(why)"))
            server = .absent(session.ledger, RouteWishes())
            return session.takeEffects() + [.report(.lost(why))]
        case .server(.unavailable(let why)): return [.report(.unavailable(why))]
        default: session.handle(event, at: now)
        }
        let effects = session.takeEffects()
        server = .present(session)
        return effects
    }

    /// Ends once everything is undone, can't be undone, or takes too long.
    private mutating func closingEffects(_ now: BootClock.Instant) -> [Effect] {
        guard case .closing(let end) = life else { return [] }
        if case .present(let session) = server, !session.isIdle || !ledger.players.isEmpty, now < end { return [] }
        life = .closed
        let left: [Effect] = ledger.isEmpty ? [] : [.report(.problem("\(ledger.count) effects could not be undone"))]
        return left + [.write(ledger), .finish]
    }
}

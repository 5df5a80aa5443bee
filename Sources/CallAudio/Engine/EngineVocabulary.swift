internal import RingwakeCore
internal import RunLoop

extension AudioEngineStateMachine {
    /// What happens.
    enum Event {
        case start
        case request(AudioEngineRequest)
        case server(AudioServerEvent)
        /// The answer to an effect, with the image of that moment. Answers of a former connection are dropped before.
        case answered(Answer, AudioServerImage?)
        /// Whether the disk holds what ``Effect/cover(_:)`` asked for.
        case covered(Bool)
        /// The answer to an effect that concerns players, which comes at any time.
        case playersAnswered(PlayersAnswer)
        case playerChanged(MediaPlayer, MediaPlayerChange)
        case deadlineReached
        /// All reports have been sent: see ``Effect/callAfterTurn``.
        case turnEnded
        case close
    }

    enum Answer {
        case performed([AudioServerFailure?])
        /// The server's stored values; nil: the server doesn't report them.
        case stored([StoredStream]?)
        /// The connection broke.
        case lost
    }

    enum PlayersAnswer {
        case found([MediaPlayer])
        /// Those that were ordered to pause.
        case ordered([MediaPlayer])
        case resumed(MediaPlayerAnswers)
    }

    /// The effects that the driver runs. Each of the first three is answered, and only one of them is in progress at a
    /// time; the same holds for the next three.
    enum Effect {
        /// Make sure that the disk contains everything to undo this ledger; answered before any other event.
        case cover(EffectLedger)
        case perform([AudioServerCommand])
        case readStored
        case findPlayers
        /// Orders them to pause, once the disk contains this ledger, which has them.
        case pausePlayers([MediaPlayer], EffectLedger)
        case resumePlayers([MediaPlayer])
        case watchPlayers([MediaPlayer], paused: Set<MediaPlayer>)
        case write(EffectLedger)
        case report(AudioEngineReport)
        /// The effects of an earlier run are undone; reported once.
        case ready(mended: Int)
        case connect
        /// Send ``Event/turnEnded`` from the loop, after the reports.
        case callAfterTurn
        /// End all connections; nothing follows.
        case finish
    }
}

/// What an ``EngineWork`` waits for: one answer, or a time.
enum EngineQuestion {
    case journal(EffectChanges, before: EffectLedger)
    case commands([EffectChanges.Step])
    /// The server's stored values, to remember them for new kinds.
    case stored
    /// The same request, only to see all streams.
    case allStreams
    case storedToRepair(StoredRepair.Kinds)
    case repair(StoredRepair.Kinds)
    case storedToCheck(StoredRepair.Kinds)
    case retry(BootClock.Instant)
}

/// What the engine knows besides the server.
struct EngineSurroundings {
    let tree: ProcessTree
    let boot: String?
    /// The effects of other programs on the same server.
    let others: () -> [EffectLedger]
    /// ``AudioServer/knownStored``
    let stored: () -> [StoredStream]?
}

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
        /// A watched player plays again.
        case playerStarted(MediaPlayer)
        case deadlineReached
        /// Everything that was reported is out: see ``Effect/callAfterTurn``.
        case turnEnded
        case close
    }

    enum Answer {
        case performed([AudioServerFailure?])
        /// What the server stores; nil: it does not tell.
        case stored([StoredStream]?)
        case players([MediaPlayer])
        case resumed(Int)
        /// The connection broke.
        case lost
    }

    /// What the driver does. Each of the first six is answered, and only one of them is open at a time.
    enum Effect {
        /// Make the disk hold everything that undoes this ledger; answered before anything else happens.
        case cover(EffectLedger)
        case perform([AudioServerCommand])
        case readStored
        case findPlayers
        case pausePlayers([MediaPlayer])
        case resumePlayers([MediaPlayer])
        case watchPlayers([MediaPlayer])
        case write(EffectLedger)
        case report(AudioEngineReport)
        /// What an earlier run left is undone; reported once.
        case ready(mended: Int)
        case connect
        /// Send ``Event/turnEnded`` from the loop, after the reports.
        case callAfterTurn
        /// End all connections; nothing follows.
        case finish
    }
}

/// What a work waits for: one answer, or a time.
enum EngineQuestion {
    case journal(EffectChanges, before: EffectLedger)
    case playersJournal([MediaPlayer], before: [MediaPlayer])
    case commands([EffectChanges.Step])
    /// What the server stores: to remember it for new kinds.
    case stored
    /// The same question, only to see all streams.
    case allStreams
    case storedToRepair(StoredRepair.Kinds)
    case repair(StoredRepair.Kinds)
    case storedToCheck(StoredRepair.Kinds)
    case retry(BootClock.Instant)
    case playersToPrepare, playersToPause
    case pausing([MediaPlayer])
    case resuming(count: Int)
}

/// What is known besides the server.
struct EngineSurroundings {
    let tree: ProcessTree
    let boot: String?
    /// What other programs have in force on the same server.
    let others: () -> [EffectLedger]
}

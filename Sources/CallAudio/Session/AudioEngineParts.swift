package import Logging
package import RingwakeCore
package import RunLoop

/// What an engine is made of: the user's audio server and players, as the environment names them.
package struct AudioEngineParts {
    package let environment: [String: String]
    /// The audio server; where every other program of this environment finds it.
    package let address: PulseAddress
    package let runLoop: RunLoop
    package let logger: Logger
    /// The version that the engine tells.
    package let version: String

    package init(
        environment: [String: String], address: PulseAddress = .standard, runLoop: RunLoop, logger: Logger,
        version: String
    ) {
        self.environment = environment
        self.address = address
        self.runLoop = runLoop
        self.logger = logger
        self.version = version
    }

    /// The journals of this user's programs, whether they are there or not: those in the usual places, and of others those
    /// that hold effects which were made since the user logged in.
    package var knownJournals: [String] {
        let usual = EffectJournals.all(environment).map(EffectJournals.place)
        let registered = JournalRegistry(environment, logger)?.journals ?? []
        return usual + registered.filter { !usual.contains($0) }
    }

    /// An engine that has not started.
    /// - Throws: The journal is another program's, or cannot be used: why, and what to do.
    package func makeEngine(
        journal path: String, report: @escaping (AudioEngineReport) -> Void
    ) throws(EffectJournalError) -> AudioEngine {
        let place = EffectJournals.place(of: path)
        let engine = try AudioEngine(
            runLoop: runLoop, server: PulseServer(runLoop: runLoop, address: address),
            players: MPRISPlayers(environment: environment, runLoop: runLoop, logger: logger), journalPath: path,
            version: version,
            siblings: EffectJournals.all(environment).map(EffectJournals.place).filter { $0 != place }, report: report)
        engine.journal.registry = JournalRegistry(environment, logger)
        return engine
    }
}

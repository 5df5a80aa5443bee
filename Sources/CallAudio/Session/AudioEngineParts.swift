package import Logging
package import RingwakeCore
package import RunLoop

/// What an engine needs: the user's audio server and players, as the environment names them.
package struct AudioEngineParts {
    package let environment: [String: String]
    /// The audio server; by default where every other program with this environment finds it.
    package let address: PulseAddress
    package let runLoop: RunLoop
    package let logger: Logger
    /// The version that the engine reports.
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

    /// The journals of this user's programs, existing or not: those in the usual places, and registered ones with
    /// effects made since the user logged in.
    package var knownJournals: [String] {
        let usual = EffectJournals.all(environment).map(EffectJournals.place)
        let registered = JournalRegistry(environment, logger)?.journals ?? []
        return usual + registered.filter { !usual.contains($0) }
    }

    /// A new engine, not started.
    /// - Throws: The journal belongs to another program, or cannot be used.
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

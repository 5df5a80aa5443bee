import RingwakeCore

// The daemon is killed and starts again.
extension SimulatedWorld {
    /// The machine is restarted with it: there is no handler any more, and only what the journal has of calls counts.
    mutating func crash() {
        die()
        handlers = [:]
        checks.restart()
        now = now.advanced(by: .milliseconds(Int.random(in: 0..<8_000, using: &random)))
        begin()
        let origin = StoredCall.Origin.otherBoot(isTimeKnown: true)
        for call in journal.open(origin) { applyUnchecked(.restored(call, policies[call.record.key.app])) }
        for app in SimulatedWorld.apps {
            applyUnchecked(.handlersRestored(app, [:], alive: [], policies[app] ?? AppPolicy()))
        }
        for call in coordinator.active.values { checks.resume(call) }
        apply(.deadlineReached)
    }

    /// Within the same boot: calls go on as they stood when their rows were written, and handlers may run still.
    mutating func restart() throws {
        let former = coordinator
        die()
        // Some did not outlive it, though it left them alone.
        for wake in handlers.keys.sorted() where handlers[wake]?.isRunning == false || chance(0.3) {
            handlers[wake] = nil
        }
        for wake in handlers.keys { handlers[wake]?.isConnected = false }
        checks.restart()
        for (wake, handler) in handlers { checks.resume(wake, of: handler.app, isGuest: handler.cameByItself) }
        // So that most rings are still in time.
        now = now.advanced(by: .milliseconds(Int.random(in: 0..<3_000, using: &random)))
        begin(firstWake: (former.lanes.values.flatMap(\.handlers.keys).max()?.number ?? 0) + 1)
        for app in SimulatedWorld.apps {
            if former.isStruckOut(app) { checks.struckOut.insert(app) }
            applyUnchecked(.strikesRestored(app, former.strikes(of: app), isStruckOut: former.isStruckOut(app)))
        }
        // Until all of these have been taken up things are not as they have to be.
        var events: [Event] = []
        for stored in journal.open() {
            let record = try SnapshotTests.written(stored.record)
            checks.check(record == stored.record, "\(record.key) is another one when it is read again")
            let policy = policies[record.key.app] ?? AppPolicy()
            checks.resume(Call(record, stored.payloads, policy))
            events.append(.restored(StoredCall(record, payloads: stored.payloads, .thisBoot), policy))
        }
        for app in SimulatedWorld.apps {
            let handlers = former.lanes[app]?.handlers ?? [:]
            let alive = Set(handlers.keys).intersection(self.handlers.keys)
            events.append(.handlersRestored(app, handlers, alive: alive, policies[app] ?? AppPolicy()))
        }
        for event in events { applyUnchecked(event) }
        // What is owed is owed anew from now on, which needs nobody to be told.
        for call in coordinator.active.values { checks.resume(call) }
        apply(.deadlineReached)
        // A handler that runs still and has heard of its calls asks what it owes.
        for wake in handlers.keys.sorted() {
            let calls = coordinator.active.values.filter { $0.handler == wake }.sorted { $0.number < $1.number }
            handlers[wake]?.calls = calls.map(\.key)
            handlers[wake]?.asked = calls.flatMap { call in call.machine.owed.map { ($0.action, call.key) } }
        }
    }

    /// Some of what waited may have become durable, and nobody heard of it.
    private mutating func die() {
        _ = journal.commit(Int.random(in: 0...journal.waiting.count, using: &random))
        journal.crash()
    }

    private mutating func begin(firstWake: UInt64 = 1) {
        coordinator = CoordinatorStateMachine(
            firstCallNumber: journal.nextNumber, firstWakeNumber: firstWake, limits: limits)
        coordinator.remember(journal.recent(Int.random(in: 0..<4, using: &random)))
    }
}

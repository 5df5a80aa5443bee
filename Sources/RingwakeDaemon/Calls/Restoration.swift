internal import FoundationEssentials
internal import HandlerActivation
internal import Logging
internal import PushJournal
internal import RingwakeCore

/// What outlives the daemon beside its calls, whose records are the journal's: which handlers ran, the strikes, and what apps
/// keep with the daemon. Each object is a row under a path of its own, with the version of its kind:
///
///     app/com.example.phone/handlers  its handlers: how to find each, and the hash of its secret
///     app/com.example.phone/strikes   the strikes that count still
///     app/com.example.phone/state     what the app keeps with the daemon
///     device/dnd                      do not disturb
///
/// A row that cannot be read is set aside and said; it is never read again, and the daemon goes on without.
final class Restoration {
    /// How a start went, for the status.
    private(set) var report: (restored: Int, setAside: Int, why: String?) = (0, 0, nil)
    /// What apps keep with the daemon.
    private(set) var states: [AppID: [UInt8]] = [:]

    private let journal: PushJournal
    private let logger: Logger
    private let excluded: Set<RestorationGroup>
    /// The rows that there are of handlers and strikes, so that what never was need not be removed.
    private var written: Set<String> = []
    /// The strikes in the rows that there are.
    private var writtenStrikes: [AppID: Strikes] = [:]
    /// Apps whose handlers or strikes have changed since rows were written last.
    private var changed: Set<AppID> = []

    private struct Strikes: Equatable {
        let strikes: [Strike]
        let isStruckOut: Bool
    }

    init(journal: PushJournal, excluded: Set<RestorationGroup>, logger: Logger) {
        self.journal = journal
        self.excluded = excluded
        self.logger = logger
    }

    // MARK: - Writing

    /// Notes what has changed. It is written down once, when the turn's work goes to the journal: a handler that is being
    /// started does not wait for it.
    func note(_ apps: Set<AppID>) {
        guard !apps.isEmpty else { return }
        changed.formUnion(apps)
        journal.enqueueHandover()
    }

    /// Writes down what has been noted.
    func write(_ runner: EffectRunner) {
        for app in changed {
            if !excluded.contains(.handlers) { writeHandlers(of: app, runner) }
            if !excluded.contains(.strikes) { writeStrikes(of: app, runner.coordinator, at: runner.now) }
        }
        changed = []
    }

    private func writeHandlers(of app: AppID, _ runner: EffectRunner) {
        let path = RestorationPath.handlers(app)
        let handlers = runner.coordinator.lanes[app]?.handlers ?? [:]
        let records = handlers.sorted { $0.key < $1.key }.compactMap { runner.handlers.record(of: $0, $1) }
        records.isEmpty ? remove(path) : keep(records, at: path)
    }

    private func writeStrikes(of app: AppID, _ coordinator: CoordinatorStateMachine, at now: BootInstant) {
        let path = RestorationPath.strikes(app)
        let current = Strikes(strikes: coordinator.strikes(of: app), isStruckOut: coordinator.isStruckOut(app))
        guard current != writtenStrikes[app] else { return }
        guard !current.strikes.isEmpty || current.isStruckOut else {
            writtenStrikes[app] = nil
            return remove(path)
        }
        keep(StrikeRecord(current.strikes, isStruckOut: current.isStruckOut, at: now), at: path)
        writtenStrikes[app] = current
    }

    private func keep(_ value: some Encodable, at path: RestorationPath) {
        do {
            journal.keep(Array(try JSONEncoder().encode(value)), version: path.version, at: path.text, .now)
            written.insert(path.text)
        } catch {
            // Texts, numbers and Booleans always encode.
            logger.error("state not written down", metadata: ["path": "\(path.text)", "why": "\(error)"])
        }
    }

    private func remove(_ path: RestorationPath) {
        guard written.remove(path.text) != nil else { return }
        journal.keep(nil, version: path.version, at: path.text, .withNext)
    }

    /// Makes durable that an app has no strikes.
    func forgetStrikes(of app: AppID, completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        let path = RestorationPath.strikes(app)
        written.remove(path.text)
        writtenStrikes[app] = nil
        journal.keep(nil, version: path.version, at: path.text, completion: completion)
    }

    /// An app is gone, and all that was kept of it.
    func forget(_ app: AppID) {
        for path in [RestorationPath.handlers(app), .strikes(app), .state(app)] {
            journal.keep(nil, version: path.version, at: path.text, .withNext)
        }
        states[app] = nil
    }

    /// Makes durable what an app keeps with the daemon; nil takes it away.
    func keepState(
        _ state: [UInt8]?, of app: AppID, completion: @escaping (Result<Void, RingwakeError>) -> Void
    ) {
        let path = RestorationPath.state(app)
        journal.keep(state, version: path.version, at: path.text) { [weak self] result in
            if case .success = result { self?.states[app] = state }
            completion(result)
        }
    }

    // MARK: - Reading

    /// Takes up what the last run left: calls that can go on do, those that are still in time wake their handlers, the
    /// others end here.
    func restore(_ contents: JournalContents, _ runner: EffectRunner) {
        var last = LastRun()
        for row in contents.states { read(row, into: &last, runner.now) }
        for (path, reason) in contents.setAside {
            noteAside(path, reason)
        }
        let wakes = contents.open.compactMap(\.record.progress?.handler) + last.handlers.values.joined().map(\.wake)
        runner.begin(after: contents, lastWake: wakes.map(\.number).max() ?? 0)
        for (app, strikes) in last.strikes where runner.configuration.apps[app] != nil {
            runner.submit(.strikesRestored(app, strikes.strikes(at: runner.now), isStruckOut: strikes.isStruckOut))
        }
        for call in contents.open {
            let isKept = !excluded.contains(.calls)
            let stored = isKept ? call : StoredCall(call.record, payloads: call.payloads, .otherBoot(isTimeKnown: true))
            runner.submit(.restored(stored, runner.policy(of: call.record.key.app)))
        }
        restoreHandlers(last.handlers, runner)
        report.restored = runner.coordinator.active.count
        guard !contents.open.isEmpty || report.setAside > 0 else { return }
        logger.notice(
            "calls of the last run taken up",
            metadata: [
                "calls": "\(contents.open.count)", "going-on": "\(runner.coordinator.active.count)",
                "set-aside": "\(report.setAside)",
            ])
    }

    private func restoreHandlers(_ records: [AppID: [HandlerRecord]], _ runner: EffectRunner) {
        let calls = runner.coordinator.active.values
        let apps = Set(records.keys).union(calls.map(\.key.app))
        for app in apps.sorted(by: { $0.rawValue < $1.rawValue }) {
            let policy = runner.policy(of: app)
            var handlers: [WakeID: HandlerLane.Handler] = [:]
            var alive: Set<WakeID> = []
            for record in records[app] ?? [] {
                // One that came by itself and has nothing to do comes again by itself.
                if record.state.cameByItself, !calls.contains(where: { $0.handler == record.wake }) { continue }
                handlers[record.wake] = record.state
                let events = runner.handlerEvents(record.wake, of: app)
                if policy != nil, runner.handlers.adopt(record, of: app, events: events) { alive.insert(record.wake) }
            }
            runner.submit(.handlersRestored(app, handlers, alive: alive, policy ?? AppPolicy()))
        }
    }

    /// What the rows say of the last run.
    private struct LastRun {
        var handlers: [AppID: [HandlerRecord]] = [:]
        var strikes: [AppID: StrikeRecord] = [:]
    }

    private func read(_ row: StateRow, into last: inout LastRun, _ now: BootInstant) {
        guard let path = RestorationPath(row.path) else {
            // Another part's, such as do not disturb.
            if !row.path.hasPrefix("device/") { setAside(row, "its path names nothing that is kept") }
            return
        }
        guard row.version == path.version else {
            return setAside(row, "it has version \(row.version), and this program reads \(path.version)")
        }
        do {
            switch path {
            case .handlers(let app):
                guard row.isOfThisBoot, !excluded.contains(.handlers) else { break }
                let records = try JSONDecoder().decode([HandlerRecord].self, from: Data(row.data))
                guard records.allSatisfy({ WakeID.numbers.contains($0.wake.number) }) else {
                    return setAside(row, "it holds a number that no handler gets")
                }
                last.handlers[app] = records
                written.insert(row.path)
                return
            case .strikes(let app):
                guard !excluded.contains(.strikes) else { break }
                var record = try JSONDecoder().decode(StrikeRecord.self, from: Data(row.data))
                record.age = row.age ?? .zero
                last.strikes[app] = record
                written.insert(row.path)
                return
            case .state(let app):
                guard !excluded.contains(.state) else { break }
                states[app] = row.data
                return
            }
        } catch {
            return setAside(row, "it cannot be read: \(error)")
        }
        journal.keep(nil, version: path.version, at: row.path, .withNext)
    }

    /// A row that cannot be read is kept for whoever wants to look, and not read again.
    func setAside(_ row: StateRow, _ why: String) {
        noteAside(row.path, why)
        journal.setAside(row.path, reason: why)
    }

    private func noteAside(_ path: String, _ why: String) {
        report.setAside += 1
        report.why = report.why ?? "\(path): \(why)"
        logger.error("state of the last run set aside", metadata: ["path": "\(path)", "why": "\(why)"])
    }
}

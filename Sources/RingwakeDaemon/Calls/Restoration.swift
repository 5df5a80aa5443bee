internal import DaemonConfiguration
internal import CallService
internal import Cryptography
internal import FoundationEssentials
internal import HandlerActivation
internal import Logging
internal import PushGateway
internal import PushJournal
internal import RingwakeCore

/// Stored state besides the calls: which handlers ran, strikes, do-not-disturb rules, and what apps store with the
/// daemon. Each object is one row with a path and the version of its kind:
///
///     app/com.example.phone/handlers     its handlers: how to find each, and the hash of its secret
///     app/com.example.phone/strikes      its strikes that still count
///     app/com.example.phone/state        what the app stores with the daemon
///     app/com.example.phone/restoration  how often a handler crashed while it restored that
///     device/dnd                         do not disturb
///
/// A row that can't be read is set aside and logged. It is never read again; the daemon continues without it.
final class Restoration {
    /// Result of the restoration, for the status.
    private(set) var report: (restored: Int, setAside: Int, why: String?) = (0, 0, nil)
    private let journal: PushJournal
    private let logger: Logger
    private let excluded: Set<RestorationGroup>
    /// Paths of the handler and strike rows that exist, so that only those are removed.
    private var written: Set<String> = []
    /// The handlers in the rows that this process has written. The first row of an app is always written: it shows
    /// whether the disk takes it.
    private var writtenHandlers: [AppID: [HandlerRecord]] = [:]
    /// The strikes in the stored rows.
    private var writtenStrikes: [AppID: Strikes] = [:]
    /// Apps whose handlers or strikes have changed since they were last written.
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

    /// Notes apps that have changed. They are written once, with the journal's next work, or soon: what is left of a
    /// handler that was started is written with its push, and its report follows within milliseconds.
    func note(_ apps: Set<AppID>) {
        guard !apps.isEmpty else { return }
        changed.formUnion(apps)
        journal.require(.soon)
    }

    /// Writes the noted changes.
    func write(_ calls: CallDriver) {
        for app in changed {
            if !excluded.contains(.handlers) { writeHandlers(of: app, calls) }
            if !excluded.contains(.strikes) { writeStrikes(of: app, calls.coordinator, at: calls.now) }
        }
        changed = []
    }

    private func writeHandlers(of app: AppID, _ calls: CallDriver) {
        let path = RestorationPath.handlers(app)
        let handlers = calls.coordinator.lanes[app]?.handlers ?? [:]
        let records = handlers.sorted { $0.key < $1.key }.compactMap { wake, state in
            calls.service.handlers[wake].map { handler in
                let mark = calls.activator.mark(of: wake) ?? handler.process.map { .process($0) }
                return HandlerRecord(wake: wake, secretHash: encodeHex(handler.secretHash), mark: mark, state: state)
            }
        }
        let former = writtenHandlers.updateValue(records, forKey: app)
        if records.isEmpty { return remove(path) }
        if records != former { keep(records, at: path) }
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
            journal.keep(Array(try JSONEncoder().encode(value)), version: path.version, at: path.text, .withNext)
            written.insert(path.text)
        } catch {
            // Strings, numbers and Booleans always encode.
            logger.error("state not written down", metadata: ["path": "\(path.text)", "why": "\(error)"])
        }
    }

    private func remove(_ path: RestorationPath) {
        guard written.remove(path.text) != nil else { return }
        journal.keep(nil, version: path.version, at: path.text, .withNext)
    }

    /// Deletes an app's strikes durably.
    func forgetStrikes(of app: AppID, completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        let path = RestorationPath.strikes(app)
        written.remove(path.text)
        writtenStrikes[app] = nil
        journal.keep(nil, version: path.version, at: path.text, completion: completion)
    }

    /// Deletes all rows of a removed app with the next commit, which is due now.
    func forget(_ app: AppID) {
        writtenHandlers[app] = nil
        for path in [RestorationPath.handlers(app), .strikes(app), .state(app), .restoration(app)] {
            journal.keep(nil, version: path.version, at: path.text, .now)
        }
    }

    /// Stores how the restoration of an app's state goes: now, because the daemon may be killed as its handler was.
    func store(_ record: SavedStates.Record, of app: AppID) {
        if record.crashes > 0 {
            logger.warning(
                "a handler crashed while it restored its app's state",
                metadata: ["app": "\(app)", "crashes": "\(record.crashes) of \(SavedStates.maximumCrashes)"])
        }
        let path = RestorationPath.restoration(app)
        do {
            let data = record.isEmpty ? nil : Array(try JSONEncoder().encode(RestorationRecord(record)))
            journal.keep(data, version: path.version, at: path.text, .now)
        } catch {
            logger.error("state not written down", metadata: ["path": "\(path.text)", "why": "\(error)"])
        }
    }

    /// Removes an app's state, and stores why.
    func drop(_ app: AppID, _ record: SavedStates.Record) {
        logger.warning(
            "the state of an app is dropped",
            metadata: ["app": "\(app)", "why": "\(record.drop?.reason.rawValue ?? "")"])
        let path = RestorationPath.state(app)
        journal.keep(nil, version: path.version, at: path.text, .now)
        store(record, of: app)
    }

    /// Stores an app's state durably; nil deletes it.
    func store(_ state: [UInt8]?, of app: AppID, completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        let path = RestorationPath.state(app)
        journal.keep(state, version: path.version, at: path.text, completion: completion)
    }

    /// Stores the do-not-disturb rules durably.
    func store(_ rules: DoNotDisturb, completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        // They would replace rules that nobody has read.
        guard journal.isOpen else {
            let why =
                "do not disturb cannot be changed before the journal is open; 'ringwake status' says what it needs"
            return completion(.failure(RingwakeError(.system, why)))
        }
        do {
            let data = Array(try JSONEncoder().encode(rules))
            journal.keep(
                data, version: DoNotDisturb.version, at: RestorationPath.doNotDisturb.text, completion: completion)
        } catch {
            completion(.failure(RingwakeError(.failed, "do not disturb cannot be written down: \(error)")))
        }
    }

    // MARK: - Reading

    /// Begins without the last run, because the store cannot be opened. The numbers of calls and handlers come from the
    /// wall clock: far above those in the store, which are counted, so that the last run can be restored later. While the
    /// clock isn't set, each start would have the same, so chance keeps them apart.
    func beginWithoutStore(_ calls: CallDriver) {
        let number = Restoration.firstNumber(at: unixMilliseconds())
        calls.submit(
            .restored(
                RestoredState(nextCallNumber: number, nextWakeNumber: UInt64(clamping: number), isKnown: false)))
    }

    /// The first number of a run without the store.
    /// - Parameter now: the wall clock, in milliseconds since 1970.
    static func firstNumber(at now: Int64) -> Int64 {
        let earliest = PushGateway.earliestPlausibleTime
        // Chance spreads over 9 hours of the clock, so that a start with a right clock is above it.
        return max(now, earliest) << 11 + .random(in: 0..<(now > earliest ? 1 << 11 : 1 << 36))
    }

    /// Restores the last run, at the start or when the store is opened later. Calls that can continue do so. Calls that
    /// are still in time are delivered again, which wakes their handlers. The others end.
    func restore(_ contents: JournalContents, _ calls: CallDriver) {
        var last = LastRun()
        for row in contents.states { read(row, into: &last, calls.now) }
        for (path, reason) in contents.setAside {
            noteAside(path, reason)
        }
        let wakes = contents.open.compactMap(\.record.progress?.handler) + last.handlers.values.joined().map(\.wake)
        // A call in progress needs its key; another sender's call that ended with it is only in the call log.
        let openKeys = Set(contents.open.map(\.record.key))
        last.state.recent = contents.recent.filter { !openKeys.contains($0.key) }
        let locked = contents.lockedStates.compactMap { path, protection in
            RestorationPath(path)?.savingApp.map { ($0, protection) }
        }
        last.state.states = SavedStates(
            contents: last.saved, records: last.restorations, locked: Dictionary(locked) { first, _ in first })
        last.state.nextCallNumber = contents.nextCallNumber
        last.state.nextWakeNumber = (wakes.map(\.number).max() ?? 0) + 1
        let before = calls.coordinator.active.count
        calls.submit(.restored(last.state))
        for (app, strikes) in last.strikes where calls.configuration.apps[app] != nil {
            calls.submit(.strikesRestored(app, strikes.strikes(at: calls.now), isStruckOut: strikes.isStruckOut))
        }
        for call in contents.open {
            guard !isKeyTaken(of: call.record, calls) else {
                end(call.record, calls)
                continue
            }
            let isKept = !excluded.contains(.calls)
            let stored = isKept ? call : StoredCall(call.record, payloads: call.payloads, .otherBoot(isTimeKnown: true))
            calls.submit(.restored(stored, calls.policy(of: call.record.key.app)))
        }
        restoreHandlers(last.handlers, calls)
        report.restored = calls.coordinator.active.count - before
        guard !contents.open.isEmpty || report.setAside > 0 else { return }
        logger.notice(
            "calls of the last run restored",
            metadata: [
                "calls": "\(contents.open.count)", "continuing": "\(report.restored)",
                "set-aside": "\(report.setAside)",
            ])
    }

    /// Adds what could not be read at the start, and was read since.
    func reveal(_ rows: ProtectedRows, _ calls: CallDriver) {
        var last = LastRun()
        for row in rows.states { read(row, into: &last, calls.now) }
        var lost: Set<AppID> = []
        for (path, why) in rows.unfitStates.sorted(by: { $0.key < $1.key }) {
            // One that the app has written meanwhile is another one.
            guard let app = RestorationPath(path)?.savingApp, calls.service.states.lock(of: app) != nil else {
                continue
            }
            noteAside(path, why)
            journal.setAside(path, reason: why)
            lost.insert(app)
        }
        calls.submit(.statesRevealed(RevealedStates(contents: last.saved, records: last.restorations, lost: lost)))
        calls.submit(.callersRevealed(rows.callers))
    }

    /// Whether another sender's push has started a call with the same key, while the store could not be read.
    private func isKeyTaken(of stored: CallRecord, _ calls: CallDriver) -> Bool {
        guard let known = calls.coordinator.call(stored.key) else { return false }
        return known.provenance.sender != stored.provenance.sender
    }

    /// Ends a stored call in the store only: by its key, handlers and users mean the other sender's call.
    private func end(_ stored: CallRecord, _ calls: CallDriver) {
        var record = stored
        record.state = .ended
        record.reason = .failed
        record.detail = "another sender's push took its id while the journal could not be read"
        record.timeline.append(TimelineEntry(.ended, at: calls.now))
        record.progress = nil
        journal.write(record, .now)
        logger.warning(
            "call of the last run ended: another sender's push took its id",
            metadata: ["app": "\(record.key.app)", "call": "\(record.key.id)", "sender": "\(record.provenance.sender)"])
        guard record.isMissed, record.restriction == nil else { return }
        calls.onMissed?(Call(record, [], calls.policy(of: record.key.app) ?? AppPolicy()))
    }

    private func restoreHandlers(_ records: [AppID: [HandlerRecord]], _ driver: CallDriver) {
        let calls = driver.coordinator.active.values
        let apps = Set(records.keys).union(calls.map(\.key.app))
        for app in apps.sorted(by: { $0.rawValue < $1.rawValue }) {
            let records = records[app] ?? []
            let handlers = driver.service.restorable(
                Dictionary(records.map { ($0.wake, $0.restored) }, uniquingKeysWith: { first, _ in first }))
            var alive: Set<WakeID> = []
            for record in records where handlers[record.wake] != nil && driver.policy(of: app) != nil {
                guard let mark = record.mark, !record.restored.secretHash.isEmpty else { continue }
                let events = driver.handlerEvents(record.wake, of: app)
                if driver.activator.adopt(mark, wake: record.wake, events: events) != nil { alive.insert(record.wake) }
            }
            driver.submit(.handlersRestored(app, handlers, alive: alive))
        }
    }

    /// The contents of the rows.
    private struct LastRun {
        var handlers: [AppID: [HandlerRecord]] = [:]
        var strikes: [AppID: StrikeRecord] = [:]
        var state = RestoredState()
        var saved: [AppID: [UInt8]] = [:]
        var restorations: [AppID: SavedStates.Record] = [:]
    }

    private func read(_ row: StateRow, into last: inout LastRun, _ now: BootInstant) {
        guard let path = RestorationPath(row.path) else {
            return setAside(row, "its path names nothing that is kept")
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
            case .doNotDisturb:
                guard !excluded.contains(.dnd) else { break }
                last.state.doNotDisturb = try JSONDecoder().decode(DoNotDisturb.self, from: Data(row.data))
                return
            case .state(let app):
                guard !excluded.contains(.state) else { break }
                last.saved[app] = row.data
                return
            case .restoration(let app):
                guard !excluded.contains(.state) else { break }
                guard let record = try JSONDecoder().decode(RestorationRecord.self, from: Data(row.data)).record else {
                    return setAside(row, "it holds a number that nobody writes")
                }
                last.restorations[app] = record
                return
            }
        } catch {
            return setAside(row, "it cannot be read: \(error)")
        }
        journal.keep(nil, version: path.version, at: row.path, .withNext)
    }

    /// Sets aside a row that can't be read. The journal keeps it for inspection; it isn't read again.
    private func setAside(_ row: StateRow, _ why: String) {
        noteAside(row.path, why)
        journal.setAside(row.path, reason: why)
    }

    private func noteAside(_ path: String, _ why: String) {
        report.setAside += 1
        report.why = report.why ?? "\(path): \(why)"
        logger.error("state of the last run set aside", metadata: ["path": "\(path)", "why": "\(why)"])
    }
}

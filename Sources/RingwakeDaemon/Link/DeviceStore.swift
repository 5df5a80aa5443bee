internal import DeviceLink
internal import Logging
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// Stores what changes of the linked devices, a limited number of changes at a time: an order may be about thousands.
final class DeviceStore {
    /// Called when a change is durable, or could not be stored.
    var onStored: (DeviceChange, _ isDurable: Bool) -> Void = { _, _ in }

    private let journal: PushJournal
    private let runLoop: RunLoop
    private let logger: Logger
    /// Changes that are being stored, by their numbers.
    private var storing: Set<UInt64> = []
    /// Those that wait for it: one for each device, however often it changes while a disk hangs.
    private var waiting: [DeviceID: Work] = [:]
    private var order: ArraySlice<DeviceID> = []
    private var lastNumber: UInt64 = 0
    private var watchers: [Watcher] = []
    /// Changes that could not be stored since the last one that could.
    private var failures = 0

    private struct Work {
        /// Of its first change: changes are numbered in their order.
        let number: UInt64
        let device: DeviceID
        /// As it is after the last change; nil: it is removed.
        var record: DeviceRecord?
        var changes: [DeviceChange]
    }

    private struct Watcher {
        let last: UInt64
        let body: (Result<Void, RingwakeError>) -> Void
        var error: RingwakeError?
    }

    /// The journal takes some thousands at once, and pushes need a place there, too.
    private static let maximumStoring = 256
    /// Changes of one device that are answered: of more, the first ones came by links that are gone.
    private static let maximumChanges = 64

    init(journal: PushJournal, runLoop: RunLoop, logger: Logger) {
        self.journal = journal
        self.runLoop = runLoop
        self.logger = logger
    }

    /// Stores a device as it is now; without a record it is removed.
    func store(_ record: DeviceRecord?, of device: DeviceID, _ change: DeviceChange) {
        lastNumber += 1
        if var work = waiting.removeValue(forKey: device) {
            work.record = record
            // An order is waited for by its number (``whenDurable(_:)``).
            if change != .administrative(device) {
                work.changes = work.changes.suffix(Self.maximumChanges - 1) + [change]
            }
            waiting[device] = work
            return
        }
        let work = Work(number: lastNumber, device: device, record: record, changes: [change])
        guard storing.count < Self.maximumStoring, order.isEmpty else {
            waiting[device] = work
            return order.append(device)
        }
        begin(work)
    }

    /// Calls `body` once, later, when everything that was to be stored until now is durable, or with an error.
    func whenDurable(_ body: @escaping (Result<Void, RingwakeError>) -> Void) {
        watchers.append(Watcher(last: lastNumber, body: body))
        runLoop.enqueue { [self] in notify() }
    }

    private func begin(_ work: Work) {
        storing.insert(work.number)
        let completion: (Result<Void, RingwakeError>) -> Void = { [weak self] in self?.end(work, $0) }
        guard let record = work.record else {
            return journal.removeDevice(work.device.rawValue, completion: completion)
        }
        do throws(RingwakeError) {
            let row = DeviceRow(
                id: work.device.rawValue, version: DeviceRecord.version, data: try record.encoded())
            journal.put(row, completion: completion)
        } catch {
            runLoop.enqueue { completion(.failure(error)) }
        }
    }

    private func end(_ work: Work, _ result: Result<Void, RingwakeError>) {
        storing.remove(work.number)
        note(result, work.device)
        if case .failure(let error) = result {
            for index in watchers.indices { watchers[index].error = error }
        }
        for change in work.changes { onStored(change, (try? result.get()) != nil) }
        if storing.count < Self.maximumStoring, let next = order.popFirst().flatMap({ waiting.removeValue(forKey: $0) })
        {
            begin(next)
        }
        notify()
    }

    /// Logs the first of many failures, and their end.
    private func note(_ result: Result<Void, RingwakeError>, _ device: DeviceID) {
        switch result {
        case .failure(let error):
            failures += 1
            guard failures == 1 else { return }
            logger.error(
                "a linked device cannot be stored",
                metadata: ["device": "\(device.short)", "why": "\(error.message)"])
        case .success:
            guard failures > 0 else { return }
            logger.notice("linked devices can be stored again", metadata: ["failed": "\(failures)"])
            failures = 0
        }
    }

    private func notify() {
        guard !watchers.isEmpty else { return }
        // What waits came after what is being stored, but for what was added to it.
        let oldest = storing.min() ?? order.first.flatMap { waiting[$0]?.number } ?? .max
        let done = watchers.filter { $0.last < oldest }
        watchers.removeAll { $0.last < oldest }
        for watcher in done { watcher.body(watcher.error.map { .failure($0) } ?? .success(())) }
    }
}

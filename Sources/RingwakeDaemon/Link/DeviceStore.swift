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
    /// Changes that are being stored, and those that wait for it.
    private var storing = 0
    private var waiting: ArraySlice<(DeviceRecord?, DeviceID, DeviceChange)> = []
    /// Changes that were begun, and that have ended, since the start.
    private var begun: UInt64 = 0
    private var ended: UInt64 = 0
    private var watchers: [Watcher] = []

    private struct Watcher {
        let last: UInt64
        let body: (Result<Void, RingwakeError>) -> Void
        var error: RingwakeError?
    }

    /// The journal takes some thousands at once, and pushes need a place there, too.
    private static let maximumStoring = 256

    init(journal: PushJournal, runLoop: RunLoop, logger: Logger) {
        self.journal = journal
        self.runLoop = runLoop
        self.logger = logger
    }

    /// Stores a device as it is now; without a record it is removed.
    func store(_ record: DeviceRecord?, of device: DeviceID, _ change: DeviceChange) {
        begun += 1
        guard storing < Self.maximumStoring, waiting.isEmpty else { return waiting.append((record, device, change)) }
        begin(record, device, change)
    }

    /// Calls `body` once, later, when everything that was to be stored until now is durable, or with an error.
    func whenDurable(_ body: @escaping (Result<Void, RingwakeError>) -> Void) {
        watchers.append(Watcher(last: begun, body: body))
        runLoop.enqueue { [self] in notify() }
    }

    private func begin(_ record: DeviceRecord?, _ device: DeviceID, _ change: DeviceChange) {
        storing += 1
        let completion: (Result<Void, RingwakeError>) -> Void = { [weak self] in self?.end(device, change, $0) }
        guard let record else { return journal.removeDevice(device.rawValue, completion: completion) }
        do throws(RingwakeError) {
            let row = DeviceRow(id: device.rawValue, version: DeviceRecord.version, data: try record.encoded())
            journal.put(row, completion: completion)
        } catch {
            runLoop.enqueue { completion(.failure(error)) }
        }
    }

    private func end(_ device: DeviceID, _ change: DeviceChange, _ result: Result<Void, RingwakeError>) {
        storing -= 1
        ended += 1
        if case .failure(let error) = result {
            logger.error(
                "a linked device cannot be stored",
                metadata: ["device": "\(device.short)", "why": "\(error.message)"])
            for index in watchers.indices { watchers[index].error = error }
        }
        onStored(change, (try? result.get()) != nil)
        if storing < Self.maximumStoring, let (record, device, change) = waiting.popFirst() {
            begin(record, device, change)
        }
        notify()
    }

    /// The journal ends its work in the order in which it got it.
    private func notify() {
        let done = watchers.filter { $0.last <= ended }
        guard !done.isEmpty else { return }
        watchers.removeAll { $0.last <= ended }
        for watcher in done { watcher.body(watcher.error.map { .failure($0) } ?? .success(())) }
    }
}

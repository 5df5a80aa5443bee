import DeviceLink
import FoundationEssentials
import Logging
import MQTT5
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@testable import RingwakeDaemon

@Suite("What changes of linked devices is stored, and its sender answered")
final class DeviceStoreTests {
    private let directory: String
    private let loop: RunLoop
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private var journal: PushJournal
    private var stored: [(change: DeviceChange, isDurable: Bool)] = []

    init() throws {
        directory = FileManager.default.temporaryDirectory.path + "/device-store-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        loop = try RunLoop()
        journal = try DeviceStoreTests.open(directory, loop, logger)
    }

    isolated deinit {
        journal.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static func open(_ directory: String, _ loop: RunLoop, _ logger: Logger) throws -> PushJournal {
        try PushJournal(
            directory: directory, runLoop: loop, logger: logger,
            clocks: JournalClocks(
                wall: { unixMilliseconds() }, boot: { BootInstant(nanoseconds: BootClock.now().nanoseconds) },
                bootID: "test", trust: { .kept }))
    }

    private func record(_ number: Int, revision: UInt64) throws -> DeviceRecord {
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        let name = String([letters[number / 26], letters[number % 26]]) + String(repeating: "b", count: 49) + "a"
        let id = try #require(DeviceID(name))
        var record = DeviceRecord(id: id, name: "device \(number)", pairedAt: 1, sealing: nil)
        record.revision = revision
        return record
    }

    @Test("While the disk is busy a device that changes again and again waits once, and its last state is stored")
    func gathering() throws {
        let store = DeviceStore(journal: journal, runLoop: loop, logger: logger)
        store.onStored = { self.stored.append(($0, $1)) }
        let count = 300
        for number in 0..<count {
            let record = try record(number, revision: 1)
            store.store(record, of: record.id, .administrative(record.id))
        }
        // The last of all devices waits.
        let changing = try record(count - 1, revision: 0).id
        let link = LinkID(rawValue: 7)
        for number in UInt16(2)...200 {
            store.store(
                try record(count - 1, revision: UInt64(number)), of: changing,
                .registrations(link, packetID: number, changing))
        }
        for _ in 0..<100 { store.store(try record(count - 1, revision: 200), of: changing, .administrative(changing)) }
        var storedWhenDurable: Int?
        store.whenDurable { result in
            #expect((try? result.get()) != nil)
            storedWhenDurable = self.stored.count
        }
        let end = BootClock.now().advanced(by: .seconds(300))
        while storedWhenDurable == nil, BootClock.now() < end { loop.runOnce(timeout: .milliseconds(20)) }
        #expect(storedWhenDurable == stored.count, "nothing comes later")
        #expect(stored.filter { !$0.isDurable }.isEmpty)
        let answered = stored.compactMap { change, _ in
            if case .registrations(_, let packetID, _) = change { packetID } else { nil }
        }
        #expect(answered == Array(137...200), "the newest, in their order; orders push out none of them")
        #expect(stored.count == count - 1 + answered.count)
        journal.close()
        journal = try DeviceStoreTests.open(directory, loop, logger)
        let rows = journal.takeContents().devices
        #expect(rows.count == count)
        let last = try #require(rows.first { $0.id == changing.rawValue })
        #expect(last.data == (try record(count - 1, revision: 200).encoded()))
    }
}

import CRingwakeSQLite
import Database
import FileSystem
import FoundationEssentials
import Glibc
import Logging
import PushJournal
import RingwakeCore
import StoreMigration
import Synchronization
import Testing

@Suite("A store of a released version")
struct MigrationTests {
    private static func fixture(_ version: Int, _ name: String) throws -> [UInt8] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Fixtures/store/version-\(version)/\(name).db")
        return Array(try Data(contentsOf: file))
    }

    /// The present store, while one of the next version has not been opened yet.
    private static let kept = "store.version-\(NextStore.version - 1)"

    /// A closed journal on a store that a daemon of version 7 left.
    private func folder7(_ name: String = "device", vfs: String? = nil) throws -> JournalHarness {
        let harness = try JournalHarness(vfs: vfs)
        harness.journal.close()
        for name in ["store.db", "store.db-wal", "store.seal"] { unlink("\(harness.directory.path)/\(name)") }
        try FileSystem.replace(harness.directory.store, with: try Self.fixture(7, name), mode: 0o600)
        // Shortly after it was written, in the same boot.
        let probe = try StoreProbe(harness.directory.store)
        let times =
            "(SELECT received_boot, received_wall FROM push UNION SELECT received_boot, received_wall FROM mail)"
        harness.clock.restart(
            uptime: .nanoseconds(try probe.number("SELECT max(received_boot) FROM \(times)")) + .seconds(2),
            wall: try probe.number("SELECT max(received_wall) FROM \(times)") + 2_000)
        return harness
    }

    /// The boot in which it was written.
    private func bootID(_ harness: JournalHarness) throws -> String {
        try StoreProbe(harness.directory.store).text("SELECT name FROM boot")
    }

    private func expectDevice(_ harness: JournalHarness) throws {
        #expect(harness.contents.damage.isEmpty)
        #expect(harness.contents.open.map(\.record.state) == [.held, .connected, .ringing])
        #expect(harness.contents.open.allSatisfy { !$0.payload.isEmpty && $0.origin == .thisBoot })
        #expect(harness.contents.recent.count == 3 && harness.contents.nextCallNumber == 7)
        #expect(harness.contents.lists.map(\.entries) == [1])
        #expect(
            harness.contents.states.map(\.path) == [
                "app/com.example.other/strikes", "app/com.example.phone/handlers", "app/com.example.phone/state",
                "device/dnd",
            ])
        let known = try harness.pushes()
        #expect(known.count == 6)
        #expect(try known.allSatisfy { try harness.append($0.push) == .repeated })
    }

    /// What a migration leaves beside the files of an open store.
    private func remains(in harness: JournalHarness) throws -> [String] {
        let usual = ["store.db", "store.db-wal", "store.reserve", "store.seal", "damaged"]
        return try FileSystem.entries(of: harness.directory.path).filter { !usual.contains($0) }
    }

    @Test("7 of a device gives its calls back as they stood, and all other state")
    func device() throws {
        let harness = try folder7()
        try harness.reopen(bootID: bootID(harness))
        try expectDevice(harness)
    }

    @Test("7 of a gateway gives its devices and their waiting pushes back")
    func gateway() throws {
        let harness = try folder7("gateway")
        try harness.reopen()
        #expect(harness.contents.devices.count == 1 && harness.contents.mail.count == 2)
        #expect(Set(harness.contents.mail.map(\.device)) == Set(harness.contents.devices.map(\.id)))
    }

    @Test("is migrated version by version, with progress in the log, and the former store goes when that is open")
    func migrated() throws {
        let harness = try folder7()
        harness.versions = NextStore.versions(steps: 3) { [$0] }
        try harness.reopen(bootID: bootID(harness))
        try expectDevice(harness)
        let log = harness.log.messages(.notice)
        #expect(log.contains("store is being migrated") && log.last == "store is migrated")
        let remains = try remains(in: harness)
        #expect(remains.isEmpty)
        try harness.reopen(bootID: "another")
        #expect(harness.contents.damage.isEmpty)
        harness.journal.close()
        let probe = try StoreProbe(harness.directory.store)
        #expect(try probe.number("PRAGMA user_version") == NextStore.version + 2)
        #expect(try probe.text("PRAGMA integrity_check") == "ok")
        #expect(try probe.text("SELECT min(language_1 || language_3) FROM push") == "enen")
        #expect(try probe.number("SELECT id FROM extra") == 5)
    }

    @Test("is whole at the next start after a migration without a daemon, and after an import that was refused")
    func idle() throws {
        let harness = try folder7()
        let (path, clocks) = (harness.directory.path, harness.clock.clocks())
        let store = try IdleStore(inDirectory: path, limits: JournalLimits(), clocks: clocks)
        for _ in 0..<2 { #expect(try store.migrate { _ in } == []) }
        harness.clock.advance(by: .seconds(1))
        for boot in ["another", "a third"] {
            #expect(throws: RingwakeError.self) {
                try PortableImport.run(
                    inDirectory: path, limits: JournalLimits(), clocks: harness.clock.clocks(bootID: boot)
                ) { () throws(RingwakeError) in nil }
            }
            #expect(try store.migrate { _ in } == [])
        }
        try harness.reopen(bootID: "a fourth")
        #expect(harness.contents.damage.isEmpty && harness.contents.nextCallNumber == 7)
    }

    @Test("is found by whoever reads it after a kill between two renames")
    func betweenRenames() throws {
        let harness = try folder7()
        let path = harness.directory.path
        try FileSystem.move("\(path)/store.db", to: "\(path)/store.migrated")
        let store = try IdleStore(inDirectory: path, limits: JournalLimits(), clocks: harness.clock.clocks())
        #expect(try store.report().rows["push"] == 6)
    }

    /// A moment of a migration, as a kill leaves it.
    enum Moment: CaseIterable {
        case begun, whole, logRemoved, oldAside, inPlace
        /// The new store's seal is written.
        case sealed
    }

    @Test("is the old or the new one after a kill at any moment, whole", arguments: Moment.allCases, [true, false])
    func interrupted(moment: Moment, isSealKept: Bool) throws {
        let harness = try folder7()
        let boot = try bootID(harness)
        try harness.reopen(bootID: boot)
        // As a kill leaves it, with a log.
        _ = try harness.append(harness.push("newest"), call: harness.call(90, "newest"))
        let path = harness.directory.path
        var old: [String: [UInt8]] = [:]
        for name in ["store.db", "store.db-wal", "store.seal"] { old[name] = try read("\(path)/\(name)") }
        harness.journal.close()
        // What an uninterrupted migration makes.
        harness.versions = NextStore.versions()
        let first = try folder(old, harness.clock)
        first.versions = NextStore.versions()
        try first.reopen(bootID: boot)
        #expect(first.contents.open.count == 4)
        let new = try migratedStore(old, harness.clock, boot)

        var files: [String: [UInt8]] = old
        switch moment {
        case .begun: files["store.new"] = Array(new.store.prefix(10_000))
        case .whole: (files["store.migrated"], files["store.seal"]) = (new.store, new.sealBefore)
        case .logRemoved:
            files["store.migrated"] = new.store
            (files["store.db"], files["store.db-wal"], files["store.seal"]) = (new.old, nil, new.sealBefore)
        case .oldAside:
            (files["store.migrated"], files[Self.kept]) = (new.store, new.old)
            (files["store.db"], files["store.db-wal"], files["store.seal"]) = (nil, nil, new.sealBefore)
        case .inPlace, .sealed:
            (files["store.db"], files[Self.kept]) = (new.store, new.old)
            files["store.db-wal"] = nil
            files["store.seal"] = moment == .sealed ? new.seal : new.sealBefore
        }
        if !isSealKept { files["store.seal"] = nil }
        let found = try folder(files, harness.clock)
        found.versions = NextStore.versions()
        try found.reopen(bootID: boot)
        #expect(found.contents.damage.isEmpty)
        #expect(found.contents.open.map(\.record.state) == [.held, .connected, .ringing, .woken])
        #expect(try found.append(found.push("newest")) == .repeated)
        let remains = try remains(in: found)
        #expect(remains.isEmpty)
        found.journal.close()
        #expect(try StoreProbe(found.directory.store).number("PRAGMA user_version") == NextStore.version)
        #expect(try StoreProbe(found.directory.store).text("PRAGMA integrity_check") == "ok")
    }

    /// The files of a migration from `old`: the new store, the old one that is kept, and the seals before and after.
    private func migratedStore(
        _ old: [String: [UInt8]], _ clock: TestClock, _ boot: String
    ) throws -> (store: [UInt8], old: [UInt8], sealBefore: [UInt8], seal: [UInt8]) {
        let failed = try folder(old, clock)
        failed.versions = NextStore.versions { _ in [] }
        try failed.reopen(bootID: boot)
        #expect(!failed.journal.isOpen)
        let sealBefore = try read("\(failed.directory.path)/store.seal")
        #expect(sealBefore != old["store.seal"])
        let harness = try folder(old, clock)
        // The new store can't be opened: what a kill before that would leave.
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        disk.readFailure = { [path = harness.directory.path, kept = Self.kept] name in
            name == "store.db" && FileSystem.exists("\(path)/\(kept)") ? SQLITE_IOERR : nil
        }
        harness.versions = NextStore.versions()
        try harness.reopen(bootID: boot)
        #expect(!harness.journal.isOpen)
        harness.journal.close()
        let path = harness.directory.path
        return (
            try read("\(path)/store.db"), try read("\(path)/\(Self.kept)"), sealBefore,
            try read("\(path)/store.seal")
        )
    }

    /// A closed journal with these files.
    private func folder(_ files: [String: [UInt8]], _ clock: TestClock) throws -> JournalHarness {
        let harness = try JournalHarness(vfs: FaultyDisk.vfs)
        harness.journal.close()
        for name in ["store.db", "store.db-wal", "store.seal"] { unlink("\(harness.directory.path)/\(name)") }
        for (name, bytes) in files {
            try FileSystem.replace("\(harness.directory.path)/\(name)", with: bytes, mode: 0o600)
        }
        harness.clock.restart(uptime: .nanoseconds(clock.boot.nanoseconds), wall: clock.wall)
        return harness
    }

    private func read(_ path: String) throws -> [UInt8] { try FileSystem.read(path, maximumSize: 1 << 26) }

    // MARK: - What goes wrong

    @Test("is on the disk before it takes the place of the old one")
    func synced() throws {
        let harness = try folder7(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        harness.versions = NextStore.versions()
        try harness.reopen()
        let done = disk.changes.compactMap { change -> Bool? in
            switch change {
            case .write("store.new", _, _), .truncate("store.new", _): false
            case .sync("store.new", let succeeded): succeeded
            default: nil
            }
        }
        #expect(done.count > 10 && done.last == true)
    }

    @Test("stays as it is when the disk has no room for the new one, and is migrated at a later start")
    func noRoom() throws {
        let harness = try folder7(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        harness.versions = NextStore.versions()
        let boot = try bootID(harness)
        for operation in [FaultyDisk.Operation.write, .sync] {
            disk.plan = { asked, file in asked == operation && file == "store.new" ? SQLITE_FULL : nil }
            try harness.reopen(bootID: boot)
            #expect(!harness.journal.isOpen && harness.journal.complaint.contains("disk is full"))
            harness.journal.close()
            #expect(try StoreProbe(harness.directory.store).number("PRAGMA user_version") == 7)
            let remains = try remains(in: harness)
            #expect(remains.isEmpty)
        }
        disk.plan = { _, _ in nil }
        try harness.reopen(bootID: boot)
        try expectDevice(harness)
    }

    @Test("whose data does not fit the next version is refused once, and not tried again and again; it is unchanged")
    func wrongData() throws {
        let harness = try folder7()
        try harness.reopen()
        harness.journal.close()
        let attempts = Mutex(0)
        harness.versions = NextStore.versions { row in
            if row["number"] == .integer(1) { attempts.withLock { $0 += 1 } }
            return row["number"] == .integer(2) ? [] : [row]
        }
        let before = try read(harness.directory.store)
        try harness.reopen()
        #expect(!harness.journal.isOpen)
        #expect(harness.journal.complaint.contains("the calls: 21 before, 19 after"))
        #expect(harness.journal.complaint.contains("is unchanged"))
        for name in ["a", "b"] {
            #expect(throws: RingwakeError.self) { try harness.append(harness.push(name)) }
        }
        #expect(attempts.withLock { $0 } == 1)
        harness.journal.close()
        #expect(try read(harness.directory.store) == before)
        harness.versions = nil
        try harness.reopen()
        #expect(harness.journal.isOpen && harness.contents.nextCallNumber == 7)
    }

    @Test("takes the place of the new one again if that is damaged before it was ever opened")
    func newIsDamaged() throws {
        let harness = try folder7()
        let boot = try bootID(harness)
        let old = try read(harness.directory.store)
        try FileSystem.replace("\(harness.directory.path)/store.version-7", with: old, mode: 0o600)
        OutsideWriter.write([UInt8](repeating: 0xff, count: 8_192), to: harness.directory.store, at: 4_096)
        harness.versions = NextStore.versions()
        try harness.reopen(bootID: boot)
        #expect(harness.contents.damage.map { $0.contains("the former store is used") } == [true])
        #expect(harness.contents.open.count == 3 && harness.journal.statistics.pushes == 6)
        let remains = try remains(in: harness)
        #expect(remains.isEmpty)
    }

    @Test("before the first release is refused, with its version and the oldest one", arguments: [1, 6])
    func tooOld(version: Int) throws {
        let harness = try folder7()
        try StoreProbe(harness.directory.store).run("PRAGMA user_version = \(version)")
        let error = #expect(throws: RingwakeError.self) { try harness.reopen() }
        #expect(error?.code == .conflict)
        #expect(
            error?.message.contains("store version \(version), and the oldest that this program reads is 7") == true)
    }
}

import CRingwakeSQLite
import FoundationEssentials
import Glibc
import Logging
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@Suite("A store of an older version")
struct UpgradeTests {
    /// What version 1 made, word for word, and a call with its push as it wrote them.
    private static let version1 = """
        PRAGMA auto_vacuum = INCREMENTAL;
        PRAGMA journal_mode = WAL;
        BEGIN IMMEDIATE;
        CREATE TABLE boot (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE push (
            sequence INTEGER PRIMARY KEY, apns_id TEXT NOT NULL, app TEXT NOT NULL, topic TEXT NOT NULL,
            environment TEXT NOT NULL, team TEXT NOT NULL, priority INTEGER NOT NULL, collapse_id TEXT,
            call_id TEXT NOT NULL, outcome TEXT NOT NULL, boot INTEGER NOT NULL, received_boot INTEGER NOT NULL,
            received_wall INTEGER NOT NULL, journaled INTEGER
        ) STRICT;
        CREATE UNIQUE INDEX push_identity ON push (lower(apns_id), app, environment, team);
        CREATE TABLE call (
            number INTEGER PRIMARY KEY, app TEXT NOT NULL, id TEXT NOT NULL, topic TEXT NOT NULL,
            environment TEXT NOT NULL, team TEXT NOT NULL, apns_id TEXT NOT NULL, boot INTEGER NOT NULL,
            received_boot INTEGER NOT NULL, received_wall INTEGER NOT NULL, is_missed INTEGER NOT NULL,
            state TEXT NOT NULL, reason TEXT, detail TEXT, caller TEXT, caller_name TEXT, has_video INTEGER,
            attempt INTEGER NOT NULL, ring_before INTEGER NOT NULL, is_one_attempt INTEGER NOT NULL,
            ring_time INTEGER NOT NULL, verified INTEGER, journaled INTEGER, woke INTEGER, reported INTEGER,
            rang INTEGER, answered INTEGER, connected INTEGER, hung_up INTEGER, ended INTEGER
        ) STRICT;
        CREATE UNIQUE INDEX call_key ON call (id, app, team);
        CREATE INDEX call_open ON call (number) WHERE state <> 'ended';
        CREATE INDEX call_missed ON call (number) WHERE is_missed = 1;
        CREATE TABLE payload (call INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
        PRAGMA application_id = 1382641255;
        PRAGMA user_version = 1;
        INSERT INTO boot VALUES (1, 'boot-1');
        INSERT INTO push VALUES (
            4, 'A', 'com.example.phone', 'com.example.phone.voip', 'production', 'TEAM', 10, NULL, 'A', 'started', 1,
            5000000000000, 1772366400000, 7);
        INSERT INTO call VALUES (
            3, 'com.example.phone', 'A', 'com.example.phone.voip', 'production', 'TEAM', 'A', 1, 5000000000000,
            1772366400000, 0, 'woken', NULL, NULL, 'sip:a@b', 'A', 1, 1, 45000000000, 0, 45000000000, 1, 2, 3, NULL,
            NULL, NULL, NULL, NULL, NULL);
        INSERT INTO payload VALUES (3, x'010203');
        COMMIT;
        """

    /// A journal that is closed, on a store of version 1.
    private func makeOld(vfs: String? = nil) throws -> JournalHarness {
        let harness = try JournalHarness(vfs: vfs)
        harness.journal.close()
        for name in ["store.db", "store.db-wal"] { unlink("\(harness.directory.path)/\(name)") }
        try StoreProbe(harness.directory.store).run(Self.version1)
        return harness
    }

    private func expectUpgraded(_ harness: JournalHarness) throws {
        let call = try #require(harness.contents.open.first)
        #expect(harness.contents.open.count == 1)
        #expect(call.payload == [1, 2, 3])
        #expect(call.record.number == 3)
        #expect(call.record.update == CallUpdate(caller: "sip:a@b", callerName: "A", hasVideo: true))
        #expect(call.record.restriction == nil)
        #expect(harness.contents.states.isEmpty)
        var ended = call.record.ending(.blocked, at: harness.clock.boot.advanced(by: .seconds(1)))
        ended.restriction = .blocked
        ended.update.identifiedAs = "a call centre"
        harness.journal.write(ended, .now)
        try harness.keep([1], at: "device/dnd")
        #expect(try harness.append(harness.push("a")) == .repeated)
        try harness.reopen()
        #expect(try harness.records() == [ended])
        #expect(harness.contents.states.count == 1)
    }

    @Test("is taken over as it is, and has what this version knows")
    func upgraded() throws {
        let harness = try makeOld()
        try harness.reopen()
        try expectUpgraded(harness)
        harness.journal.close()
        #expect(try StoreProbe(harness.directory.store).text("PRAGMA integrity_check") == "ok")
    }

    @Test("has the same tables afterwards as a new one")
    func sameTables() throws {
        let schema =
            "SELECT group_concat(line, ';') FROM (SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || "
            + "c.\"notnull\" || ' ' || c.pk AS line FROM sqlite_schema AS m, pragma_table_info(m.name) AS c "
            + "WHERE m.type = 'table' ORDER BY 1)"
        let indexes = "SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY 1)"
        let old = try makeOld()
        try old.reopen()
        old.journal.close()
        let new = try JournalHarness()
        new.journal.close()
        for sql in [schema, indexes] {
            #expect(try StoreProbe(old.directory.store).text(sql) == StoreProbe(new.directory.store).text(sql))
        }
    }

    @Test("is old or new after a power cut at any moment of its upgrade, and whole")
    func powerCut() throws {
        let harness = try makeOld(vfs: FaultyDisk.vfs)
        let start = DiskImage(of: harness.directory.path)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        try harness.reopen()
        harness.journal.close()
        let changes = disk.changes
        try #require(changes.count > 5)
        var image = start
        for moment in 0...changes.count {
            if moment > 0 { image.apply(changes[moment - 1]) }
            for fate in DiskImage.Fate.allCases {
                let other = try JournalHarness()
                other.journal.close()
                try image.afterPowerCut(fate).write(to: other.directory.path)
                try other.reopen()
                try expectUpgraded(other)
            }
        }
    }

    @Test("stays as it is when the disk has no room for the upgrade, and is taken over at a later start")
    func noRoom() throws {
        let harness = try makeOld(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        for operation in [FaultyDisk.Operation.write, .sync] {
            disk.plan = { asked, _ in asked == operation ? SQLITE_FULL : nil }
            try harness.reopen()
            #expect(!harness.journal.isOpen && harness.journal.complaint.contains("disk is full"))
            #expect(try StoreProbe(harness.directory.store).number("PRAGMA user_version") == 1)
        }
        disk.plan = { _, _ in nil }
        try harness.reopen()
        try expectUpgraded(harness)
    }

    /// The boot that the store of version 3 was written in.
    private static let boot = "d23a6cc9-8afb-460b-9abe-9d092cbe2c82"

    /// A journal on the store of version 3 that a daemon left which was killed, opened in this boot.
    private func open3(bootID: String) throws -> JournalHarness {
        let harness = try JournalHarness()
        harness.journal.close()
        for name in ["store.db", "store.db-wal"] { unlink("\(harness.directory.path)/\(name)") }
        let fixture = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Fixtures/store/version-3.sql")
        try StoreProbe(harness.directory.store).run(String(contentsOf: fixture, encoding: .utf8))
        // The daemon was killed half an hour after the machine was started, when the last push was some seconds old.
        harness.clock.restart(uptime: .seconds(1_863), wall: 1_795_386_827_000)
        try harness.reopen(bootID: bootID)
        return harness
    }

    @Test("of version 3 gives its running calls back as they stood, with the payloads, and all other state")
    func runningCalls() throws {
        let harness = try open3(bootID: Self.boot)
        #expect(harness.contents.open.map(\.record.state) == [.held, .connected, .ringing, .ringing])
        #expect(harness.contents.recent.count == 4 && harness.contents.nextCallNumber == 9)
        #expect(
            harness.contents.states.map(\.path) == [
                "app/com.example.other/strikes", "app/com.example.phone/handlers", "app/com.example.phone/state",
                "device/dnd",
            ])
        var coordinator = CoordinatorStateMachine()
        for stored in harness.contents.open {
            #expect(stored.origin == .thisBoot && !stored.payload.isEmpty)
            _ = coordinator.handle(.restored(stored, AppPolicy()), at: harness.clock.boot)
            let call = try #require(coordinator.call(stored.record.key))
            #expect(call.machine.state.name == stored.record.state && call.handler == WakeID(number: 5))
            #expect(call.machine.isMuted == (stored.record.state == .connected) && call.machine.pending.isEmpty)
            #expect(call.machine.deadlines.action == .seconds(60) && call.machine.lease == .taken)
            #expect(call.isJournaled && call.pushes.unread.isEmpty && call.attempt == 1)
            #expect(call.audio?.activation == (stored.record.state == .ringing ? nil : 2))
        }
        #expect(
            coordinator.active.values.filter { $0.update.callerName == "Alice" }.map(\.machine.state.name) == [.held])
        harness.journal.close()
        let probe = try StoreProbe(harness.directory.store)
        #expect(try probe.text("PRAGMA integrity_check") == "ok")
        #expect(try probe.number("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%\\_3' ESCAPE '\\'") == 0)
    }

    @Test("of version 3 is of another boot after the machine was restarted: its calls don't go on")
    func runningCallsOfAnotherBoot() throws {
        let harness = try open3(bootID: "boot-2")
        #expect(harness.contents.open.map(\.origin) == Array(repeating: .otherBoot(isTimeKnown: true), count: 4))
        var coordinator = CoordinatorStateMachine()
        for stored in harness.contents.open {
            _ = coordinator.handle(.restored(stored, AppPolicy()), at: harness.clock.boot)
        }
        #expect(coordinator.active.isEmpty)
        #expect(
            coordinator.finished.map(\.machine.state.endReason) == [.failed, .failed, .unanswered, .unanswered])
    }
}

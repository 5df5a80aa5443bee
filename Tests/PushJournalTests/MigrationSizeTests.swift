import CRingwakeSQLite
import FoundationEssentials
import Glibc
import PushJournal
import RingwakeCore
import RunLoop
import StoreMigration
import Testing

@Suite("A large store")
struct MigrationSizeTests {
    /// Calls and pushes; RINGWAKE_TEST_ROWS has another number, for measurements.
    private static let rows = ProcessInfo.processInfo.environment["RINGWAKE_TEST_ROWS"].flatMap { Int64($0) } ?? 60_000

    @Test("is migrated in bounded memory, by inference and by a policy, and its plan says what it will be")
    func bounded() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("0"), call: harness.call(1, "0"))
        harness.journal.close()
        let numbers = "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.rows))"
        let store = harness.directory.store
        do {
            let probe = try StoreProbe(store)
            try probe.run(
                "\(numbers) INSERT INTO call SELECT i, app, hex(randomblob(16)), sender, received_wall, boot, received_boot, "
                    + "'ended', 1, version, snapshot || hex(zeroblob(300)), NULL FROM n, (SELECT * FROM call WHERE number = 1)"
            )
            try probe.run(
                "INSERT INTO push SELECT number, id, app, 'topic', 'production', sender, 10, NULL, id, 'started', boot, "
                    + "received_boot, received_wall, 1 FROM call WHERE number > 1")
        }
        let versions = NextStore.versions { [$0] }
        let idle = try IdleStore(
            inDirectory: harness.directory.path, limits: JournalLimits(), clocks: harness.clock.clocks(),
            versions: versions)
        let plan = try idle.plan()
        #expect(plan.steps.map(\.to) == [NextStore.version] && plan.neededBytes > Self.rows * 1_000)
        #expect(
            plan.steps[0].changes == [
                "push: the column 'language_1' is added, with 'en'", "call: its rows are made anew", "extra: is new",
            ])
        #expect(plan.report.rows["call"] == Self.rows && plan.report.version == NextStore.version - 1)
        // Other tests have stores too, of some megabytes.
        sqlite3_memory_highwater(1)
        let before = sqlite3_memory_used()
        var reports = 0
        let begun = BootClock.now()
        let damage = try idle.migrate { _ in reports += 1 }
        let milliseconds = begun.duration(to: BootClock.now()).milliseconds
        #expect(sqlite3_memory_highwater(0) - before < 32 << 20)
        #expect(damage.isEmpty && reports > 50)
        #expect(try idle.report().rows["push"] == Self.rows && idle.report().version == NextStore.version)
        guard getenv("RINGWAKE_TEST_ROWS") != nil else { return }
        print(
            "\(Self.rows) pushes and as many calls, \(plan.report.bytes >> 20) MB: \(milliseconds) ms; "
                + "planned: \(plan.seconds ?? 0) s")
    }
}

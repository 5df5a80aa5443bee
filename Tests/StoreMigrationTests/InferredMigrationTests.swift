import Database
import StoreMigration
import Testing

@Suite("What can be inferred from two models")
struct InferredMigrationTests {
    private static let old = StoreModel(
        version: 1,
        [
            Entity(
                "person",
                [
                    Column("number", .integer, isKey: true), Column("name", .text),
                    Column("nick", .text, isRequired: false), Column("fax", .text, isRequired: false),
                    Column("photo", .blob),
                ],
                indices: [Index("person_name", on: "person", ["name"], isUnique: true)]),
            Entity(
                "visit", [Column("person", .integer), Column("day", .integer)], key: ["person", "day"], hasRowID: false,
                relations: [Relation("visit.person", ["person"], to: "person", ["number"])]),
            Entity("trash", [Column("name", .text, isKey: true)], hasRowID: false),
        ])

    private static let new = StoreModel(
        version: 2,
        [
            Entity(
                "contact", formerName: "person",
                [
                    Column("number", .integer, isKey: true), Column("title", .text, formerName: "name"),
                    Column("nick", .text, default: "'?'"), Column("language", .text, default: "'en'"),
                    Column("birthday", .integer, isRequired: false), Column("photo", .blob),
                ],
                indices: [
                    Index("contact_title", on: "contact", ["title"], isUnique: true),
                    Index("contact_language", on: "contact", ["language"]),
                ]),
            Entity(
                "visit",
                [Column("contact", .integer, formerName: "person"), Column("day", .integer)], key: ["contact", "day"],
                hasRowID: false, relations: [Relation("visit.person", ["contact"], to: "contact", ["number"])]),
            Entity("settings", [Column("id", .integer, isKey: true), Column("mark", .integer)], seed: ["1", "7"]),
        ])

    private func filled() throws -> MigrationHarness {
        let harness = try MigrationHarness(Self.old)
        // SQLite's own functions stop at a NUL.
        try harness.old.run("INSERT INTO person VALUES (1, 'Ann' || char(0) || 'B', NULL, '1', x'00ff')")
        try harness.old.run("INSERT INTO person VALUES (9223372036854775807, 'Bob', 'B', NULL, x'')")
        try harness.old.run("INSERT INTO visit VALUES (1, 3), (1, -9223372036854775807), (44, 1)")
        try harness.old.run("INSERT INTO trash VALUES ('x')")
        return harness
    }

    @Test("is done: columns and tables that are added, renamed, dropped, and required with a default")
    func inferred() throws {
        let harness = try filled()
        let step = try #require(try StoreVersions(Self.old, [Self.new]).steps(from: 1).first)
        try harness.migrate(step)
        let made = try harness.made()
        #expect(try ModelDifference.all(of: made, from: Self.new) == [])
        #expect(
            try made.rows("SELECT * FROM contact ORDER BY number") == [
                [.integer(1), .text("Ann\0B"), .text("?"), .text("en"), .null, .blob([0, 255])],
                [.integer(.max), .text("Bob"), .text("B"), .text("en"), .null, .blob([])],
            ])
        #expect(
            try made.rows("SELECT * FROM visit ORDER BY contact, day") == [
                [.integer(1), .integer(-.max)], [.integer(1), .integer(3)], [.integer(44), .integer(1)],
            ])
        #expect(try made.rows("SELECT * FROM settings") == [[.integer(1), .integer(7)]])
        #expect(try made.rows("PRAGMA user_version") == [[.integer(2)]])
        #expect(try made.rows("PRAGMA auto_vacuum") == [[.integer(2)]])
        #expect(step.dropped == ["trash"])
        #expect(
            step.mappings.map(\.changes) == [
                [
                    "is renamed; it was 'person'", "the column 'title' was 'name'",
                    "the column 'nick' becomes required; rows without a value get '?'",
                    "the column 'language' is added, with 'en'", "the column 'birthday' is added",
                    "the column 'fax' is dropped", "the index 'contact_title' is added",
                    "the index 'contact_language' is added",
                ],
                ["the column 'contact' was 'person'"], ["is new"],
            ])
        #expect(harness.progress.last.map { ($0.rows, $0.percent) } ?? (0, 0) == (5, 100))
    }

    @Test("leaves the old store as it is, and a failed attempt leaves no trace in it")
    func unchanged() throws {
        let harness = try filled()
        let before = try harness.old.rows("SELECT * FROM person UNION ALL SELECT person, day, 0, 0, 0 FROM visit")
        let step = try #require(try StoreVersions(Self.old, [Self.new]).steps(from: 1).first)
        // The transaction of the failed attempt is open when it fails.
        #expect(throws: MigrationFailure.self) { try harness.migrate(step, finally: "SELECT nothing") }
        #expect(try harness.old.rows("PRAGMA database_list").count == 1)
        try harness.migrate(step)
        #expect(try harness.old.rows("SELECT * FROM person UNION ALL SELECT person, day, 0, 0, 0 FROM visit") == before)
        #expect(try harness.old.rows("PRAGMA user_version") == [[.integer(1)]])
    }

    /// A change of `thing (id, name, size)` that can't be inferred.
    struct Change: CustomTestStringConvertible {
        let testDescription: String
        let entity: Entity

        static let id = Column("id", .integer, isKey: true)
        static let name = Column("name", .text, isRequired: false)
        static let size = Column("size", .integer)
        static let all = [
            Change("a required column without a default", [id, name, size, Column("more", .text)]),
            Change("required without a default", [id, Column("name", .text), size]),
            Change("another type", [id, name, Column("size", .text)]),
            Change("another key", [Column("id", .integer), name, Column("size", .integer, isKey: true)]),
            Change("a new check", [id, name, Column("size", .integer, check: "size > 0")]),
            Change("unique", [id, name, Column("size", .integer, isUnique: true)]),
            Change(
                "a former name that wasn't there", [id, Column("title", .text, isRequired: false, formerName: "nam")]),
            Change("a unique index", [id, name, size], [Index("thing_size", on: "thing", ["size"], isUnique: true)]),
            Change("a table that wasn't there", formerName: "thin", [id, name, size]),
        ]

        init(_ testDescription: String, formerName: String? = nil, _ columns: [Column], _ indices: [Index] = []) {
            self.testDescription = testDescription
            entity = Entity("thing", formerName: formerName, columns, indices: indices)
        }
    }

    @Test("is not what rows may not fit", arguments: Change.all)
    func notInferred(change: Change) {
        let old = StoreModel(version: 1, [Entity("thing", [Change.id, Change.name, Change.size])])
        #expect(EntityMapping(inferredFor: change.entity, from: old) == nil)
        #expect(EntityMapping(inferredFor: old.entities[0], from: old) != nil)
    }
}

import Database
import StoreMigration
import Testing

@Suite("A policy makes the rows that can't be inferred")
struct MigrationPolicyTests {
    private static let old = StoreModel(
        version: 4,
        [
            Entity(
                "invoice",
                [Column("number", .integer, isKey: true), Column("customer", .text), Column("cents", .integer)]),
            Entity("note", [Column("invoice", .integer), Column("text", .text)]),
        ])
    /// Customers become rows of their own.
    private static let new = StoreModel(
        version: 5,
        [
            Entity(
                "customer", [Column("id", .integer, isKey: true), Column("name", .text)],
                indices: [Index("customer_name", on: "customer", ["name"], isUnique: true)]),
            Entity(
                "invoice",
                [
                    Column("number", .integer, isKey: true), Column("customer", .integer, isRequired: false),
                    Column("name", .text, isRequired: false), Column("cents", .integer),
                    Column("currency", .text, default: "'EUR'"),
                ],
                relations: [Relation("invoice.customer", ["customer"], to: "customer", ["id"])]),
            Entity("note", [Column("invoice", .integer), Column("text", .text)]),
        ])

    private static let customers = MigrationPolicy(
        "customer", source: "invoice",
        makeRows: { [["name": $0["customer"] ?? .null]] },
        validate: { context throws(MigrationFailure) in
            try context.requireEqual(
                "SELECT count(DISTINCT customer) FROM main.invoice", "SELECT count(*) FROM new.customer", "customers")
        })

    private static func invoices(
        cents: @escaping @Sendable (StoreValue?) -> StoreValue = { $0 ?? .null },
        connect: String =
            "UPDATE new.invoice SET customer = (SELECT id FROM new.customer AS c WHERE c.name = invoice.name), name = NULL"
    ) -> MigrationPolicy {
        MigrationPolicy(
            "invoice",
            makeRows: { old throws(MigrationFailure) in
                guard case .text(let name) = old["customer"], name != "nobody" else { return [] }
                return [["number": old["number"] ?? .null, "name": .text(name), "cents": cents(old["cents"])]]
            },
            connect: { context throws(MigrationFailure) in try context.run(connect) },
            validate: { context throws(MigrationFailure) in
                try context.requireEqual(
                    "SELECT sum(cents) FROM main.invoice WHERE customer <> 'nobody'",
                    "SELECT sum(cents) FROM new.invoice", "the sum of the invoices")
            })
    }

    private func filled() throws -> MigrationHarness {
        let harness = try MigrationHarness(Self.old)
        try harness.old.run("INSERT INTO invoice VALUES (1, 'Ann', 100), (2, 'Bob', 50), (5, 'nobody', 1)")
        try harness.old.run("INSERT INTO note VALUES (1, 'a'), (2, 'b')")
        return harness
    }

    private func step(_ policies: MigrationPolicy...) throws -> MigrationStep {
        try #require(try StoreVersions(Self.old, [Self.new], policies: [5: policies]).steps(from: 4).first)
    }

    /// Leaves out who is nobody's customer.
    private static let customersOfInvoices = MigrationPolicy(
        "customer", source: "invoice",
        makeRows: { $0["customer"] == .text("nobody") ? [] : [["name": $0["customer"] ?? .null]] },
        validate: { _ in })

    @Test("which sees the old rows, makes new ones, leaves some out, and connects them")
    func made() throws {
        let harness = try filled()
        try harness.migrate(try step(Self.customersOfInvoices, Self.invoices()))
        let made = try harness.made()
        #expect(try ModelDifference.all(of: made, from: Self.new) == [])
        #expect(
            try made.rows(
                "SELECT i.number, c.name, i.cents, i.currency FROM invoice i JOIN customer c ON c.id = customer")
                == [
                    [.integer(1), .text("Ann"), .integer(100), .text("EUR")],
                    [.integer(2), .text("Bob"), .integer(50), .text("EUR")],
                ])
        #expect(try made.rows("SELECT count(*) FROM note") == [[.integer(2)]])
    }

    @Test("whose validation refuses what does not fit the old data")
    func validated() throws {
        let harness = try filled()
        let lossy = Self.invoices(cents: { _ in .integer(1) })
        #expect(throws: MigrationFailure.wrongData("the sum of the invoices: 150 before, 2 after")) {
            try harness.migrate(try step(Self.customersOfInvoices, lossy))
        }
        let unconnected = Self.invoices(connect: "UPDATE new.invoice SET customer = 77")
        #expect(
            throws: MigrationFailure.wrongData(
                "2 rows of 'invoice' refer to a missing row of 'customer', and 0 did before")
        ) { try harness.migrate(try step(Self.customersOfInvoices, unconnected)) }
        try harness.old.run("INSERT INTO invoice VALUES (6, 'Ann', 1)")
        #expect(throws: MigrationFailure.self) { try harness.migrate(try step(Self.customers, Self.invoices())) }
        let rows = try harness.old.rows("SELECT count(*) FROM invoice")
        #expect(rows == [[.integer(4)]])
    }

    @Test("whose rows break a constraint of the new version: the failure names the table and the row")
    func constraint() throws {
        let harness = try filled()
        let wrong = MigrationPolicy("invoice", makeRows: { _ in [["number": .integer(1)]] }, validate: { _ in })
        do {
            try harness.migrate(try step(Self.customersOfInvoices, wrong))
            Issue.record("nothing was thrown")
        } catch let error as MigrationFailure {
            guard case .wrongData(let why) = error else { return #expect(Bool(false), "\(error)") }
            #expect(why.contains("'invoice'") && why.contains("NOT NULL"))
        }
    }

    @Test("and what was inferred is compared column by column")
    func compared() throws {
        let harness = try filled()
        // A trigger of the old store can't be one of a step; this stands for any bug that changes a copied value.
        let spoiling = MigrationPolicy(
            "invoice", makeRows: Self.invoices().makeRows,
            connect: { context throws(MigrationFailure) in
                try context.run("UPDATE new.note SET text = 'ccc' WHERE text = 'b'")
            }, validate: { _ in })
        #expect(throws: MigrationFailure.wrongData("the values of the column 'text' of 'note' are not what they were"))
        {
            try harness.migrate(try step(Self.customersOfInvoices, spoiling))
        }
    }

    @Test("Versions that this program doesn't read are refused with both numbers")
    func unknownVersions() throws {
        let versions = StoreVersions(Self.old, [Self.new], policies: [5: [Self.customers, Self.invoices()]])
        #expect(throws: MigrationFailure.tooOld(version: 3, oldest: 4)) { try versions.steps(from: 3) }
        #expect(throws: MigrationFailure.tooNew(version: 6, current: 5)) { try versions.steps(from: 6) }
        #expect(try versions.steps(from: 5).isEmpty)
    }
}

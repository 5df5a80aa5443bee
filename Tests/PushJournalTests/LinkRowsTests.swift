import FileSystem
import PushJournal
import RingwakeCore
import Testing

@Suite("Linked devices and their waiting pushes")
struct LinkRowsTests {
    private static let phone = DeviceRow(id: "phone", version: 1, data: [1, 2, 3])
    private static let gate = DeviceRow(id: "gate", version: 2, data: [])

    private func mail(
        _ harness: JournalHarness, _ sequence: UInt64, run: UInt64 = 1, of device: String = "phone"
    ) -> MailRow {
        MailRow(
            key: MailRowKey(run: run, sequence: sequence), device: device, receivedAt: harness.clock.boot,
            receivedWall: harness.clock.wall, version: 1, facts: [UInt8(truncatingIfNeeded: sequence)],
            payload: [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: 100))
    }

    private func append(_ row: MailRow, replacing: [MailRowKey] = [], to harness: JournalHarness) throws {
        try harness.wait { harness.journal.append(row, replacing: replacing, completion: $0) }
    }

    private func put(_ device: DeviceRow, into harness: JournalHarness) throws {
        try harness.wait { harness.journal.put(device, completion: $0) }
    }

    private func payloads(_ keys: [MailRowKey], of harness: JournalHarness) throws -> MailPayloads {
        try harness.wait { harness.journal.payloads(keys, completion: $0) }
    }

    private func sequences(_ harness: JournalHarness) -> [UInt64] { harness.contents.mail.map(\.key.sequence) }

    @Test("a push that was written can be read, until it is removed")
    func appendReadRemove() throws {
        let harness = try JournalHarness()
        // SQLite's numbers are signed.
        let rows = [mail(harness, 1), mail(harness, .max, run: .max), mail(harness, 3)]
        for row in rows { try append(row, to: harness) }
        let found = try payloads(rows.map(\.key) + [MailRowKey(run: 9, sequence: 9)], of: harness)
        #expect(found.count == 3)
        for row in rows {
            #expect(found[row.key]?.facts == row.facts)
            #expect(found[row.key]?.payload == row.payload)
        }
        harness.journal.remove([rows[0].key, rows[1].key])
        harness.journal.remove([])
        #expect(try payloads(rows.map(\.key), of: harness).keys.map(\.self) == [rows[2].key])
        try harness.reopen()
        #expect(harness.contents.mail.map(\.key) == [rows[2].key])
    }

    @Test("the next start has the devices and the pushes, in the order in which they were written")
    func order() throws {
        let harness = try JournalHarness()
        try put(Self.phone, into: harness)
        try put(DeviceRow(id: "gate", version: 1, data: [9]), into: harness)
        try put(Self.gate, into: harness)
        for sequence in [7, 2, 5] as [UInt64] {
            try append(mail(harness, sequence, of: sequence == 2 ? "gate" : "phone"), to: harness)
            harness.clock.advance(by: .seconds(1))
        }
        try harness.reopen()
        #expect(harness.contents.devices == [Self.gate, Self.phone])
        #expect(sequences(harness) == [7, 2, 5])
        let second = try #require(harness.contents.mail.dropFirst().first)
        #expect(second.device == "gate" && second.facts == [2] && second.version == 1 && second.payloadBytes == 100)
        // What is written later comes later, also after a removal.
        harness.journal.remove([harness.contents.mail[2].key])
        try append(mail(harness, 1, run: 2), to: harness)
        try harness.reopen()
        #expect(sequences(harness) == [7, 2, 1])
    }

    @Test("a push is as old after a restart of the machine as the wall clock says")
    func age() throws {
        let harness = try JournalHarness()
        let (boot, wall) = (harness.clock.boot, harness.clock.wall)
        try append(mail(harness, 1), to: harness)
        harness.clock.advance(by: .seconds(20))
        try harness.reopen()
        #expect(harness.contents.mail.map(\.receivedAt) == [boot])
        // A minute after the push the machine has been up for 10 s.
        harness.clock.restart(uptime: .seconds(10), wall: wall + 60_000)
        try harness.reopen(bootID: "boot-2")
        #expect(harness.contents.mail.map(\.receivedAt) == [BootInstant(nanoseconds: -50_000_000_000)])
        #expect(harness.contents.mail.map(\.receivedWall) == [wall])
        // Its boot is still known after many others.
        for number in 3...6 { try harness.reopen(bootID: "boot-\(number)") }
        try harness.reopen(bootID: "boot-1")
        #expect(harness.contents.mail.map(\.receivedAt) == [boot])
    }

    @Test("a push that replaces others is one commit with their removal")
    func replacing() throws {
        let harness = try JournalHarness(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        try harness.reopen()
        let rows = (1...4).map { mail(harness, UInt64($0)) }
        for row in rows[...1] { try append(row, to: harness) }
        disk.plan = { operation, _ in operation == .sync ? FaultyDisk.syncFailure : nil }
        #expect(throws: RingwakeError.self) { try append(rows[2], replacing: [rows[0].key, rows[1].key], to: harness) }
        disk.plan = { _, _ in nil }
        #expect(try Set(payloads(rows.map(\.key), of: harness).keys) == [rows[0].key, rows[1].key])

        let before = disk.changes.count
        try append(rows[3], replacing: [rows[0].key, rows[1].key], to: harness)
        let syncs = disk.changes[before...].filter { if case .sync("store.db-wal", _) = $0 { true } else { false } }
        #expect(syncs.count == 1)
        try harness.reopen()
        #expect(sequences(harness) == [4])
    }

    @Test("a removed device takes its pushes along, and those of no other")
    func removeDevice() throws {
        let harness = try JournalHarness()
        for device in [Self.phone, Self.gate] { try put(device, into: harness) }
        for sequence in 1...3 as ClosedRange<UInt64> { try append(mail(harness, sequence), to: harness) }
        try append(mail(harness, 4, of: "gate"), to: harness)
        try harness.wait { harness.journal.removeDevice("phone", completion: $0) }
        try harness.wait { harness.journal.removeDevice("nobody", completion: $0) }
        try harness.reopen()
        #expect(harness.contents.devices == [Self.gate])
        #expect(sequences(harness) == [4])
    }

    @Test("a closed journal refuses everything, and later")
    func closed() throws {
        let harness = try JournalHarness()
        harness.journal.close()
        #expect(throws: RingwakeError.self) { try append(mail(harness, 1), to: harness) }
        #expect(throws: RingwakeError.self) { try put(Self.phone, into: harness) }
        #expect(throws: RingwakeError.self) { try payloads([], of: harness) }
        harness.journal.remove([MailRowKey(run: 1, sequence: 1)])
    }

    @Test("what can be read of a damaged store has both", arguments: ["push", "mail"])
    func salvage(table: String) throws {
        let harness = try JournalHarness()
        for device in [Self.phone, Self.gate] { try put(device, into: harness) }
        for number in 0..<300 { _ = try harness.append(harness.push("\(number)")) }
        for sequence in 1...300 as ClosedRange<UInt64> { try append(mail(harness, sequence), to: harness) }
        harness.journal.close()
        let page = try StoreProbe(harness.directory.store).number(
            "SELECT pageno FROM dbstat WHERE name = '\(table)' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 1")
        OutsideWriter.write([UInt8](repeating: 0xa5, count: 4_096), to: harness.directory.store, at: (page - 1) * 4_096)
        try harness.reopen()
        #expect(harness.contents.damage.map { $0.contains("copied into a new store") } == [true])
        #expect(harness.contents.devices == [Self.gate, Self.phone])
        #expect(sequences(harness) == sequences(harness).sorted())
        #expect(table == "push" ? sequences(harness).count == 300 : (200..<300).contains(sequences(harness).count))
        let rows = try payloads(harness.contents.mail.map(\.key), of: harness)
        #expect(rows.allSatisfy { $0.value.payload == mail(harness, $0.key.sequence).payload })
    }
}

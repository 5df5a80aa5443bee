import DataProtection
import FileSystem
import Foundation
import Glibc
import PushJournal
import RingwakeCore
import Testing

@MainActor @Suite("What is protected in the store")
struct ProtectionTests {
    /// What must not be readable: a payload, a caller with a name and a label, what an app keeps.
    private static let secrets = ["payload-secret", "+4930secret", "Ada Secret", "Label Secret", "state-secret"]
    private static let statePath = "app/com.example.phone/state"

    private let key: ClassKey
    private let lookup: LookupKey?

    init() throws {
        key = try ClassKey.generate(1)
        let rootKey = try RootKey.random()
        lookup = try ProtectionFile.make(.keyFile("/x"), rootKey).lookupKey(rootKey)
    }

    private func ring(
        _ keys: [ClassKey], _ protection: ProtectionClass = .complete, _ kinds: [ProtectedKind] = ProtectedKind.allCases
    ) -> KeyRing {
        KeyRing(
            keys: [protection: keys], classes: Dictionary(uniqueKeysWithValues: kinds.map { ($0, protection) }),
            lookup: lookup)
    }

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func secretCall(_ harness: JournalHarness, _ number: Int64 = 1) -> CallRecord {
        var call = harness.call(number, "call-\(number)")
        call.update = CallUpdate(caller: "+4930secret", callerName: "Ada Secret", identifiedAs: "Label Secret")
        return call
    }

    /// Writes a call that has not ended, one that has, and what an app keeps.
    private func fill(_ harness: JournalHarness) throws {
        for number in 1...2 as ClosedRange<Int64> {
            let call = secretCall(harness, number)
            let push = harness.push("push-\(number)", call: "call-\(number)")
            #expect(try harness.append(push, payload: bytes("payload-secret"), call: call) == .new)
        }
        let ended = secretCall(harness, 2).ending(.remoteEnded, at: harness.clock.boot)
        harness.journal.write(ended, .now)
        try harness.keep(bytes("state-secret"), at: Self.statePath)
        try harness.keep(bytes("{}"), at: "app/com.example.phone/strikes")
    }

    /// The secrets that are in the files of the store.
    private func found(_ harness: JournalHarness) throws -> Set<String> {
        var found: Set<String> = []
        for name in try FileSystem.entries(of: harness.directory.path) {
            guard let content = try? FileSystem.read("\(harness.directory.path)/\(name)", maximumSize: 1 << 28) else {
                continue
            }
            for secret in Self.secrets where Data(content).range(of: Data(secret.utf8)) != nil { found.insert(secret) }
        }
        return found
    }

    private func protected(_ harness: JournalHarness) throws -> ProtectedRows {
        try harness.wait { harness.journal.readProtected(since: 0, completion: $0) }
    }

    private func expectReadable(_ harness: JournalHarness) throws {
        let calls = try harness.records()
        #expect(calls.map(\.update.caller) == ["+4930secret", "+4930secret"])
        #expect(calls.allSatisfy { $0.update.callerName == "Ada Secret" && $0.update.identifiedAs == "Label Secret" })
        #expect(harness.contents.open.map(\.payload) == [bytes("payload-secret")])
        #expect(harness.contents.states.first { $0.path == Self.statePath }?.data == bytes("state-secret"))
    }

    @Test("is nowhere in the files as it is, neither while the class is available nor while it is locked")
    func hidden() throws {
        for isLocked in [false, true] {
            let harness = try JournalHarness()
            harness.keys = ring([isLocked ? key.locked : key])
            try harness.reopen()
            try fill(harness)
            #expect(try found(harness) == [])
            // Also not in what the end and the upkeep leave.
            harness.keys = ring([key])
            try harness.reopen()
            try expectReadable(harness)
            harness.journal.close()
            #expect(try found(harness) == [])
        }
    }

    @Test("is in the files as it is without protection")
    func shown() throws {
        let harness = try JournalHarness()
        try fill(harness)
        #expect(try found(harness) == Set(Self.secrets))
    }

    @Test("can't be read at a start while the class is locked, and nothing of it is lost")
    func lockedStart() throws {
        let harness = try JournalHarness()
        harness.keys = ring([key])
        try harness.reopen()
        try fill(harness)
        harness.keys = ring([key.locked])
        try harness.reopen()
        let open = try #require(harness.contents.open.first)
        #expect(
            open.record.update
                == {
                    var update = CallUpdate(); update.lockedBy = .complete; return update
                }())
        #expect(open.lockedPayloads == .complete && open.payload == bytes("{}"))
        #expect(harness.contents.lockedStates == [Self.statePath: .complete])
        #expect(harness.contents.states.map(\.path) == ["app/com.example.phone/strikes"])
        #expect(harness.contents.setAside.isEmpty && harness.contents.damage.isEmpty)
        // What is written of the call meanwhile leaves its caller.
        harness.journal.write(
            open.record.entering(.ringing, .rang, at: harness.clock.boot), .now)
        #expect(try harness.records().allSatisfy { $0.update.lockedBy == .complete && $0.update.caller == nil })
        var rows = try protected(harness)
        #expect(rows.lockedStates == [Self.statePath: .complete] && rows.states.isEmpty)
        harness.journal.use(ring([key]))
        rows = try protected(harness)
        #expect(rows.lockedStates.isEmpty && rows.states.map(\.data) == [bytes("state-secret")])
        #expect(rows.callers.mapValues(\.caller) == [1: "+4930secret", 2: "+4930secret"])
        #expect(try harness.records().allSatisfy { $0.update.lockedBy == nil && $0.update.caller == "+4930secret" })
        harness.keys = ring([key])
        try harness.reopen()
        try expectReadable(harness)
    }

    @Test("of a locked call can be replaced by what its handler reports")
    func reported() throws {
        let harness = try JournalHarness()
        harness.keys = ring([key])
        try harness.reopen()
        try fill(harness)
        harness.keys = ring([key.locked])
        try harness.reopen()
        var record = try #require(harness.contents.open.first).record
        record.update.merge(CallUpdate(caller: "sip:ada@example.com"))
        harness.journal.write(record, .now)
        harness.keys = ring([key])
        try harness.reopen()
        #expect(harness.contents.open.map(\.record.update.caller) == ["sip:ada@example.com"])
    }

    @Test("is written again with the present keys, and then nothing of it is in the files as it was")
    func rekeyed() throws {
        let harness = try JournalHarness()
        try fill(harness)
        var isDone = false
        harness.journal.onRekeyed = { _ in isDone = true }
        harness.journal.use(ring([key]))
        harness.run { isDone }
        #expect(try found(harness) == [])
        // Another generation; the former one is no longer needed then.
        let next = try ClassKey.generate(2)
        isDone = false
        harness.journal.use(ring([key, next]))
        harness.run { isDone }
        harness.keys = ring([next])
        try harness.reopen()
        try expectReadable(harness)
        // And back.
        isDone = false
        harness.journal.onRekeyed = { _ in isDone = true }
        harness.journal.use(KeyRing(keys: [.complete: [next]]))
        harness.run { isDone }
        harness.keys = .off
        try harness.reopen()
        try expectReadable(harness)
        #expect(try found(harness) == Set(Self.secrets))
    }

    @Test("is written again at a later start if that was interrupted, or if the class was locked")
    func resumed() throws {
        let harness = try JournalHarness()
        harness.keys = ring([key])
        try harness.reopen()
        try fill(harness)
        let next = try ClassKey.generate(2)
        // Locked: nothing can be opened, so nothing is written, and nothing is said to be.
        harness.keys = ring([key.locked, next.locked])
        try harness.reopen()
        var isDone = false
        harness.journal.onRekeyed = { _ in isDone = true }
        #expect(try protected(harness).lockedStates.count == 1)
        try harness.keep(bytes("{}"), at: "app/com.example.phone/strikes")
        #expect(!isDone)
        harness.keys = ring([key, next])
        try harness.reopen()
        harness.journal.onRekeyed = { _ in isDone = true }
        harness.run { isDone }
        harness.keys = ring([next])
        try harness.reopen()
        try expectReadable(harness)
    }

    @Test("is gone with its key, and all else is there")
    func deleted() throws {
        let harness = try JournalHarness()
        harness.keys = ring([key])
        try harness.reopen()
        try fill(harness)
        harness.keys = ring([try ClassKey.generate(2)])
        try harness.reopen()
        let open = try #require(harness.contents.open.first)
        #expect(open.payloads.isEmpty && open.lockedPayloads == nil && open.record.update == CallUpdate())
        #expect(harness.contents.setAside.map(\.path) == [Self.statePath])
        #expect(harness.contents.damage.isEmpty && harness.contents.recent.count == 1)
        #expect(try harness.pushes().count == 2)
        // What comes now is protected by the new key.
        let push = harness.push("push-3", call: "call-3")
        #expect(try harness.append(push, payload: bytes("payload-secret"), call: secretCall(harness, 3)) == .new)
        #expect(try harness.records().first?.update.caller == "+4930secret")
        #expect(try found(harness) == [])
    }

    @Test(
        "is neither lost nor written again while there are only keys that end with the process",
        arguments: [true, false])
    func temporaryKeys(wasProtected: Bool) throws {
        let harness = try JournalHarness()
        let before = wasProtected ? ring([key]) : .off
        harness.keys = before
        try harness.reopen()
        try fill(harness)
        // The file of keys can't be read.
        let temporary = ring([try ClassKey.generate(.random(in: ClassKey.temporaryGenerations))])
        harness.keys = temporary
        try harness.reopen()
        if wasProtected { #expect(harness.contents.open.first?.lockedPayloads == .complete) }
        var isDone = false
        harness.journal.onRekeyed = { _ in isDone = true }
        harness.journal.use(temporary)
        harness.run { isDone }
        let push = harness.push("push-3", call: "call-3")
        #expect(try harness.append(push, payload: bytes("payload-secret"), call: secretCall(harness, 3)) == .new)
        #expect(try harness.records().first?.update.caller == "+4930secret")
        // It is there again. What came meanwhile is not lost as a call.
        harness.keys = before
        try harness.reopen()
        #expect(try harness.records().map(\.update.caller) == [nil, "+4930secret", "+4930secret"])
        #expect(harness.contents.open.first?.payload == bytes("payload-secret"))
        #expect(harness.contents.states.first { $0.path == Self.statePath }?.data == bytes("state-secret"))
        #expect(harness.contents.setAside.isEmpty)
    }

    @Test("is hidden again after a time without protection, in which the former keys were not there")
    func pausedProtection() throws {
        let harness = try JournalHarness()
        harness.keys = ring([key])
        try harness.reopen()
        try fill(harness)
        var isDone = false
        harness.journal.onRekeyed = { _ in isDone = true }
        harness.journal.use(ring([key]))
        harness.run { isDone }
        // Switched off, and what would open the records is away.
        harness.keys = KeyRing(keys: [.complete: [key.locked]])
        try harness.reopen()
        let push = harness.push("push-3", call: "call-3")
        #expect(try harness.append(push, payload: bytes("payload-secret"), call: secretCall(harness, 3)) == .new)
        #expect(try found(harness).contains("Ada Secret"))
        harness.keys = ring([key])
        try harness.reopen()
        isDone = false
        harness.journal.onRekeyed = { _ in isDone = true }
        harness.journal.use(ring([key]))
        harness.run { isDone }
        #expect(try found(harness) == [])
        #expect(try harness.records().map(\.update.caller) == ["+4930secret", "+4930secret", "+4930secret"])
    }

    @Test("says with which keys all of it is written")
    func answers() throws {
        let harness = try JournalHarness()
        try fill(harness)
        var generations: [UInt32] = []
        harness.journal.onRekeyed = { generations.append($0.keys[.complete]?.last?.generation ?? 0) }
        let next = try ClassKey.generate(2)
        harness.journal.use(ring([key]))
        harness.run { generations.contains(1) }
        harness.journal.use(ring([key, next]))
        harness.run { generations.last == 2 }
    }

    @Test("is protected in the store that replaces a damaged one")
    func replaced() throws {
        let harness = try JournalHarness()
        harness.keys = ring([key])
        try harness.reopen()
        try fill(harness)
        harness.journal.close()
        try StoreProbe(harness.directory.store).run("CREATE TRIGGER mine AFTER INSERT ON push BEGIN SELECT 1; END")
        try harness.reopen()
        #expect(harness.contents.damage.count == 1)
        try expectReadable(harness)
        #expect(try found(harness) == [])
    }
}

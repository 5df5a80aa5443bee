import DataProtection
import RingwakeCore
import Testing

@Suite("Record vault")
struct RecordVaultTests {
    @Test("A record is read with the key that wrote it")
    func roundTrip() throws {
        let key = try ClassKey.generate(1)
        let vault = RecordVault(KeyRing(keys: [.complete: [key]], classes: [.payloads: .complete]))
        let record = try vault.seal([1, 2, 3], .payloads, place: "1/0")
        #expect(try vault.open(record, .payloads, place: "1/0") == [1, 2, 3])
        vault.use(KeyRing(keys: [.complete: [key.locked]], classes: [.payloads: .complete]))
        #expect(throws: RecordFailure.locked(.complete)) { try vault.open(record, .payloads, place: "1/0") }
        let sealed = try vault.seal([4], .payloads, place: "1/1")
        vault.use(KeyRing(keys: [.complete: [key]], classes: [.payloads: .complete]))
        #expect(try vault.open(sealed, .payloads, place: "1/1") == [4])
    }
}

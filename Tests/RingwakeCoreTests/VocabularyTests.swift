import RingwakeCore
import Testing

@Suite("Tokens, bundle ids and instants")
struct VocabularyTests {
    @Test("A device token is 64 hex digits of either case, and reads back as lower case")
    func deviceToken() {
        let digits = String(repeating: "0aF9", count: 16)
        #expect(DeviceToken(hex: digits)?.hex == digits.lowercased())
        for wrong in ["", "0", String(digits.dropLast()), digits + "00", String(digits.dropLast(2)) + "0g"] {
            #expect(DeviceToken(hex: wrong) == nil)
        }
        #expect(DeviceToken(bytes: Array(repeating: 0, count: 31)) == nil)
    }

    @Test("A token's description shows four digits only: it is a capability and goes into logs")
    func deviceTokenDescription() {
        #expect(DeviceToken(hex: String(repeating: "ab", count: 32)).map(String.init(describing:)) == "abab…")
    }

    @Test("A bundle id can be a file name: no slash, no leading or trailing dot, no empty part")
    func appID() {
        for id in ["com.example.phone", "a", "A-b_c.9"] {
            #expect(AppID(id)?.rawValue == id)
        }
        for id in ["", ".", "..", ".a", "a.", "a..b", "a/b", "a b", "ä.b", "a\n", String(repeating: "a", count: 201)] {
            #expect(AppID(id) == nil)
        }
    }

    @Test("Instants and durations at the ends of their range saturate and do not trap")
    func instants() {
        let last = BootInstant(nanoseconds: .max)
        #expect(last.advanced(by: .seconds(1)) == last)
        #expect(BootInstant(nanoseconds: .min).advanced(by: .seconds(-1)).nanoseconds == .min)
        #expect(BootInstant(nanoseconds: 5).advanced(by: .seconds(Int64.max)) == last)
        #expect(BootInstant(nanoseconds: .min).duration(to: last) == .nanoseconds(Int64.max))
        #expect(last.duration(to: BootInstant(nanoseconds: .min)) == .nanoseconds(Int64.min))
        #expect(BootInstant(nanoseconds: 0).advanced(by: .milliseconds(1500)).nanoseconds == 1_500_000_000)
    }
}

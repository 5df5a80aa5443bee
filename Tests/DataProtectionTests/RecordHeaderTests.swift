import DataProtection
import RingwakeCore
import Testing

@Suite struct RecordHeaderTests {
    @Test("Headers are 7 bytes, and are read as they were written")
    func roundTrip() {
        for protection in ProtectionClass.withKeys {
            for form in [.encrypted, .sealed] as [RecordHeader.Form] {
                for generation in [1, 258, .max] as [UInt32] {
                    let header = RecordHeader(form: form, protection: protection, generation: generation)
                    #expect(header.encoded.count == RecordHeader.bytes)
                    #expect(RecordHeader(header.encoded + [1, 2]) == header)
                }
            }
        }
        #expect(
            RecordHeader(form: .sealed, protection: .completeUnlessOpen, generation: 0x0102_0304).encoded
                == [1, 2, 2, 1, 2, 3, 4])
        #expect(RecordHeader(form: .plain, protection: .none, generation: 0).encoded == [1, 0, 0, 0, 0, 0, 0])
    }

    @Test("Of all headers, only those that somebody writes are read")
    func strict() {
        for format in 0...2 as ClosedRange<UInt8> {
            for form in 0...3 as ClosedRange<UInt8> {
                for protection in 0...4 as ClosedRange<UInt8> {
                    for generation in 0...1 as ClosedRange<UInt8> {
                        let isPlain = form == 0 && protection == 0 && generation == 0
                        let isProtected = (1...2).contains(form) && (1...3).contains(protection) && generation == 1
                        let bytes = [format, form, protection, 0, 0, 0, generation]
                        #expect((RecordHeader(bytes) != nil) == (format == 1 && (isPlain || isProtected)), "\(bytes)")
                    }
                }
            }
        }
        #expect(RecordHeader([1, 0, 0, 0, 0, 0]) == nil)
    }

    @Test("The numbers of classes never change")
    func numbers() {
        #expect(ProtectionClass.allCases.map(\.number) == [0, 1, 2, 3])
        #expect(ProtectionClass(number: 4) == nil)
    }
}

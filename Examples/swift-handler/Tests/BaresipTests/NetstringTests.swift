import Testing

@testable import Baresip

@Suite("Netstrings")
struct NetstringTests {
    @Test("They are read however the bytes are cut", arguments: 1...8)
    func cut(_ size: Int) throws {
        var reader = NetstringReader()
        let bytes = NetstringReader.write(Array("{\"a\":1}".utf8)) + NetstringReader.write([]) + Array("2:ab,".utf8)
        var found: [[UInt8]] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            found += try reader.read(bytes[start..<min(start + size, bytes.count)])
        }
        #expect(found == [Array("{\"a\":1}".utf8), [], Array("ab".utf8)])
    }

    @Test("What is none is refused", arguments: ["x", "12345678", "-1:", "3:abcd", "99999999:", "1 :a,"])
    func malformed(_ text: String) {
        var reader = NetstringReader()
        #expect(throws: NetstringReader.Malformed.self) {
            _ = try reader.read(Array(text.utf8))
            _ = try reader.read(Array("xxxxxxxxx".utf8))
        }
    }
}

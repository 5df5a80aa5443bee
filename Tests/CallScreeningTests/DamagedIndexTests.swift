import FileSystem
import Glibc
import RingwakeCore
import Testing

@testable import CallScreening

@Suite("An index that is damaged")
struct DamagedIndexTests {
    let folder: TemporaryFolder
    let callers = ["+49900123", "+499001", "+4911", "alice@example.org", "x@spam.example", nil]

    init() throws { folder = try TemporaryFolder() }

    /// An index with each kind of entry, and its bytes.
    func whole() throws -> [UInt8] {
        let numbers = (0..<600).map { "+49\(1_000 + $0)=label \($0)" }
        _ = try folder.build([
            ("spam", .block, numbers + ["+49900*", "alice@example.org=Alice", "*@spam.example", "anonymous"]),
            ("names", .identify, ["+49900123=Bob"]),
        ])
        return try FileSystem.read(folder.index, maximumSize: 1 << 20)
    }

    /// Looks everybody up in an index of these bytes; false when that is refused.
    func use(_ bytes: [UInt8]) throws -> Bool {
        try FileSystem.replace(folder.index, with: bytes, mode: 0o600)
        do throws(RingwakeError) {
            let index = try CallerIndex.open(folder.index)
            for caller in callers { _ = try index.lookup(CallerHandle(caller)) }
            return true
        } catch {
            #expect(error.code == .failed || error.code == .system)
            #expect(error.message.contains(folder.index))
            return false
        }
    }

    @Test("A file that is cut anywhere is refused")
    func cut() throws {
        let bytes = try whole()
        #expect(try use(bytes))
        for length in stride(from: 0, to: bytes.count, by: 97) { #expect(try !use(Array(bytes[..<length]))) }
        #expect(try !use(bytes + [0]))
    }

    @Test("A changed byte in the header or the directory is found")
    func header() throws {
        let bytes = try whole()
        let places = Array(0..<IndexHeader.bytes) + Array((bytes.count - 40)..<bytes.count)
        for place in places {
            var changed = bytes
            changed[place] ^= 0x10
            #expect(try !use(changed), "\(place)")
        }
    }

    @Test("Bytes changed at random give an error or an answer, and never a trap")
    func random() throws {
        let bytes = try whole()
        var random = SplitMix(state: 3)
        var refused = 0
        for _ in 0..<200 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...64, using: &random) {
                changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if try !use(changed) { refused += 1 }
        }
        #expect(refused > 50)
    }

    @Test("A header that lies with a right checksum is no trap either")
    func lyingHeader() throws {
        let bytes = try whole()
        var random = SplitMix(state: 5)
        let extremes: [UInt64] = [0, 1, 255, 256, 4_096, 20_000_000, 1 << 31, 1 << 47, 1 << 62, 1 << 63, .max]
        for _ in 0..<300 {
            var words = bytes[..<IndexHeader.bytes].withUnsafeBytes { buffer in
                (0..<(IndexHeader.bytes / 8)).map { buffer.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self) }
            }
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let old = words[Int.random(in: 4...10, using: &random)]
                words[Int.random(in: 4...11, using: &random)] =
                    Bool.random(using: &random) ? extremes.randomElement(using: &random) ?? 0 : old &+ 1
            }
            words[12] = words[..<12].withUnsafeBytes { IndexFormat.checksum($0, seed: 0) }
            let lying = words.withUnsafeBytes { Array($0) } + bytes[IndexHeader.bytes...]
            _ = try use(lying)
        }
    }

    @Test("A block that was changed is an error of the look-up, and the others answer")
    func block() throws {
        var bytes = try whole()
        let header = try bytes.withUnsafeBytes { try IndexHeader($0, fileBytes: $0.count, path: "x") }
        bytes[header.addressesStart + 3] ^= 1
        try FileSystem.replace(folder.index, with: bytes, mode: 0o600)
        let index = try CallerIndex.open(folder.index)
        #expect(try index.lookup(CallerHandle("+491000"))?.blocked?.label == "label 0")
        let error = #expect(throws: RingwakeError.self) { try index.lookup(CallerHandle("alice@example.org")) }
        #expect(error?.message.contains("is damaged") == true)
    }

    @Test("A file that is cut while it is open is an error, where a mapping would end the process")
    func cutWhileOpen() throws {
        _ = try whole()
        let index = try CallerIndex.open(folder.index)
        truncate(folder.index, 5_000)
        #expect(throws: RingwakeError.self) { try index.lookup(CallerHandle("+491000")) }
    }

    @Test("What is no file, or not there, is an error")
    func noFile() throws {
        let error = #expect(throws: RingwakeError.self) { try CallerIndex.open(folder.path + "/none") }
        #expect(error?.code == .notFound)
        #expect(throws: RingwakeError.self) { try CallerIndex.open(folder.path) }
        mkfifo(folder.path + "/pipe", 0o600)
        #expect(throws: RingwakeError.self) { try CallerIndex.open(folder.path + "/pipe") }
        #expect(throws: RingwakeError.self) { try CallerIndex.open("/dev/zero") }
        #expect(throws: RingwakeError.self) { try CallerIndex.open("a\u{0}") }
    }
}

import Glibc
import Testing

@testable import LogOutput

@Suite("The log never waits for its reader")
struct LogStreamTests {
    private func line(_ text: String, bytes: Int) -> [UInt8] {
        Array((text + String(repeating: "x", count: max(0, bytes - text.utf8.count - 1)) + "\n").utf8)
    }

    private func notice(_ lost: UInt64) -> [UInt8] { Array("lost \(lost)\n".utf8) }

    private func read(_ descriptor: Int32, bytes: Int) -> String {
        var buffer = [UInt8](repeating: 0, count: bytes)
        let count = Glibc.read(descriptor, &buffer, bytes)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    @Test("A full pipe loses lines; the next that it takes whole comes after their number")
    func fullPipe() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let stream = LogStream(ends[1])
        let whole = line("a", bytes: LogStream.maximumLineBytes)
        let capacity = 16
        for _ in 0..<(capacity + 3) { stream.write(whole, notice: notice) }
        #expect(read(ends[0], bytes: whole.count) == String(decoding: whole, as: UTF8.self))
        // The notice takes the only free place, and the line that follows it is lost in its turn.
        stream.write(whole, notice: notice)
        for _ in 1..<capacity { #expect(read(ends[0], bytes: whole.count).utf8.count == whole.count) }
        #expect(read(ends[0], bytes: whole.count) == "lost 3\n")
        stream.write(line("b", bytes: 2), notice: notice)
        #expect(read(ends[0], bytes: 100) == "lost 1\nb\n")
        stream.write(line("c", bytes: 2), notice: notice)
        #expect(read(ends[0], bytes: 100) == "c\n")
    }

    @Test("Whoever shares the pipe keeps it as it was")
    func sharedPipe() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        LogStream(ends[1]).write(line("a", bytes: 2), notice: notice)
        #expect(fcntl(ends[1], F_GETFL) & O_NONBLOCK == 0)
        #expect(read(ends[0], bytes: 100) == "a\n")
    }

    @Test("A closed descriptor and a full device lose every line and do nothing else")
    func nothingBehindIt() throws {
        LogStream(-1).write(line("a", bytes: 2), notice: notice)
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(full >= 0)
        defer { close(full) }
        let stream = LogStream(full)
        for _ in 0..<3 { stream.write(line("a", bytes: 2), notice: notice) }
    }

    @Test("Control characters, C1 too, become text; the rest stays")
    func controlCharacters() {
        #expect(withoutControlCharacters("a\u{202E}b\u{2066}c") == "a\\u{202e}b\\u{2066}c")
        #expect(withoutControlCharacters("a\u{1B}[31m\u{9B}\u{7F}\n é 😀") == "a\\u{1b}[31m\\u{9b}\\u{7f}\\u{a} é 😀")
    }
}

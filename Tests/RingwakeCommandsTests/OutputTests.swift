import CRingwakeLinux
import Glibc
import RingwakeCore
import Testing

@testable import RingwakeCommands

@Suite("Output to a reader that leaves")
struct OutputTests {
    init() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// The writing end of a pipe that nobody reads any more.
    private func abandonedPipe() -> Int32 {
        var ends: [Int32] = [0, 0]
        precondition(ringwake_pipe(&ends, 0) == 0)
        close(ends[0])
        return ends[1]
    }

    @Test("what nobody reads is dropped, and that is no failure")
    func readerHasGone() throws {
        let pipe = abandonedPipe()
        defer { close(pipe) }
        let output = Output(descriptor: pipe)
        output.write("a\n")
        output.write("b\n")
        #expect(!output.isOpen)
        try output.finish()
    }

    @Test("watch ends quietly when its reader leaves, also while nothing happens")
    func watchEnds() {
        let pipe = abandonedPipe()
        defer { close(pipe) }
        let daemon = FakeDaemon { _ in .hang("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") }
        let errors = Output()
        let context = CommandContext(
            output: Output(descriptor: pipe), errors: errors, environment: { _ in nil }, userID: 1000)
        // Were the leaving not seen, the missing event would give status 6 in the end.
        let watch = ["watch", "--socket", daemon.socket, "--count", "1", "--timeout", "20s"]
        #expect(CommandLineTool.run(watch, in: context) == 0)
        #expect(errors.text.isEmpty)
    }

    @Test("output that cannot be written is an error")
    func diskFull() throws {
        let full = ringwake_open("/dev/full", O_WRONLY, 0)
        defer { close(full) }
        let output = Output(descriptor: full)
        output.write("a\n")
        #expect(throws: RingwakeError.self) { try output.finish() }
    }

    @Test("NO_COLOR, a dumb terminal and a pipe give plain text")
    func plainText() {
        let context = CommandContext(output: Output(), errors: Output(), environment: { _ in nil }, userID: 0)
        #expect(!context.style.isEnabled)
        #expect(TextStyle(isEnabled: true).bold("x") == "\u{1B}[1mx\u{1B}[0m")
        #expect(TextStyle(isEnabled: false).bold("x") == "x")
    }
}

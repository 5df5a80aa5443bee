import CRingwakeLinux
import ControlProtocol
import Glibc
import RingwakeCore
import RunLoop
import Testing

struct AudioEngineConnectionTests {
    /// Both ends of a line, on a loop.
    final class Pair {
        let loop: RunLoop
        let line: AudioEngineConnection<AudioEngineRequest>
        let far: Int32
        var requests: [AudioEngineRequest] = []
        var unknown: [String] = []
        var ends: [AudioEngineConnection<AudioEngineRequest>.End] = []

        init() throws {
            loop = try RunLoop()
            var ends: [Int32] = [-1, -1]
            _ = ringwake_stream_socket_pair(&ends)
            far = ends[1]
            line = AudioEngineConnection(ends[0], runLoop: loop, decode: AudioEngineLine.request)
            line.onMessage = { [unowned self] in requests.append($0) }
            line.onUnknown = { [unowned self] in unknown.append($0) }
            line.onEnd = { [unowned self] in self.ends.append($0) }
            try line.begin(cause: WakeupCause("line"))
        }

        deinit {
            line.close()
            close(far)
        }

        func write(_ text: String) { write(Array(text.utf8)) }

        func write(_ bytes: [UInt8]) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send(far, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                if count > 0 { rest.removeFirst(count) } else { turn() }
            }
            turn()
        }

        func turn() {
            for _ in 0..<20 { loop.runOnce(timeout: .zero) }
        }

        /// All that has been reported and can be read.
        func read() -> [UInt8] {
            var all: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = recv(far, &buffer, buffer.count, 0)
                if count > 0 {
                    all += buffer[..<count]
                } else if errno == EAGAIN {
                    return all
                }
                turn()
            }
        }
    }

    @Test("requests arrive in their order, however they are cut")
    func order() throws {
        let pair = try Pair()
        let requests: [AudioEngineRequest] = [.chooseOutput("a"), .wokeFromSleep, .chooseOutput(nil)]
        for byte in requests.flatMap({ AudioEngineLine.encoded($0) }) { pair.write([byte]) }
        #expect(pair.requests == requests)
        #expect(pair.ends.isEmpty)
    }

    @Test("one that is unknown is named, and the next is read")
    func unknown() throws {
        let pair = try Pair()
        pair.write(#"{"fly":{}}"# + "\n" + #"{"wokeFromSleep":{}}"# + "\n")
        #expect(pair.unknown == ["fly"])
        #expect(pair.requests == [.wokeFromSleep])
    }

    @Test("what is no request ends it once, and nothing is read after it")
    func malformed() throws {
        let pair = try Pair()
        pair.write("nonsense\n" + #"{"wokeFromSleep":{}}"# + "\nnonsense\n")
        #expect(pair.requests.isEmpty)
        #expect(pair.ends == [.malformed("no message of an audio engine: not one JSON object")])
    }

    @Test("the other side's end is reported, and whether it tore a line", arguments: [false, true])
    func closed(isTorn: Bool) throws {
        let pair = try Pair()
        pair.write(#"{"wokeFromSleep":{}}"# + "\n" + (isTorn ? #"{"woke"# : ""))
        shutdown(pair.far, Int32(SHUT_WR))
        pair.turn()
        #expect(pair.requests == [.wokeFromSleep])
        #expect(pair.ends == [.socket(.closed(0), isTorn: isTorn)])
    }

    @Test("reports that the socket does not take are kept in order")
    func kept() throws {
        let pair = try Pair()
        let reports = (0..<4_000).map { AudioEngineReport.problem("\($0) " + String(repeating: "x", count: 100)) }
        for report in reports { pair.line.send(AudioEngineLine.encoded(report)) }
        pair.turn()
        #expect(pair.ends.isEmpty)
        #expect(pair.read() == reports.flatMap { AudioEngineLine.encoded($0) })
    }

    @Test("a daemon that does not read counts as gone, and no more is kept")
    func unread() throws {
        let pair = try Pair()
        let report = AudioEngineReport.problem(String(repeating: "x", count: 60_000))
        for _ in 0..<100 { pair.line.send(AudioEngineLine.encoded(report)) }
        // Reported from the loop only.
        #expect(pair.ends.isEmpty)
        pair.turn()
        #expect(pair.ends == [.socket(.unread, isTorn: false)])
    }

    @Test("reports to one that is gone are no error of ours")
    func gone() throws {
        let pair = try Pair()
        shutdown(pair.far, Int32(SHUT_RDWR))
        for _ in 0..<3 { pair.line.send(AudioEngineLine.encoded(.routeDisconnected)) }
        pair.turn()
        #expect(pair.ends == [.socket(.closed(0), isTorn: false)])
    }
}

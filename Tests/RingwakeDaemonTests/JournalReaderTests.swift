import RingwakeCore
import RunLoop
import Testing

@testable import RingwakeDaemon

@Suite("Reading the journal for the control API")
struct JournalReaderTests {
    private let loop: RunLoop

    init() throws {
        loop = try RunLoop()
    }

    @Test("An answer is passed on, and the timer does not come after it")
    func answered() {
        var results: [Result<Int, RingwakeError>] = []
        let answer = JournalReader.bounded({ results.append($0) }, by: .milliseconds(1), on: loop)
        answer(.success(7))
        loop.schedule(at: BootClock.now().advanced(by: .milliseconds(20)), tolerance: .zero) { [loop] in loop.stop() }
        loop.run()
        #expect(results == [.success(7)])
    }

    @Test("Without an answer in time the read has failed, and an answer that comes later is dropped")
    func silent() throws {
        var results: [Result<Int, RingwakeError>] = []
        let answer = JournalReader.bounded(
            { [loop] (result: Result<Int, RingwakeError>) in
                results.append(result)
                loop.stop()
            }, by: .milliseconds(1), on: loop)
        loop.run()
        answer(.success(7))
        #expect(results.count == 1)
        #expect(throws: RingwakeError.self) { try results.first?.get() }
        guard case .failure(let error) = results.first else { return }
        #expect(error.code == .timedOut)
    }
}

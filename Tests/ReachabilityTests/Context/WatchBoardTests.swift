import RunLoop
import Testing

@testable import Reachability

@Suite("Watch board")
struct WatchBoardTests {
    private let board: WatchBoard

    init() throws {
        board = try WatchBoard(path: NetworkPath(status: .satisfied))
    }

    private func target(_ number: Int) -> ReachabilityTarget { .host("host\(number).example") }

    private func wish(_ target: ReachabilityTarget) -> WatchBoard.Wish { .target(target, Observers()) }

    @Test("a wish is handed over once, and again when it has a new observer")
    func wishes() throws {
        let number = try board.add(.path(Observers()))
        #expect(board.takeChanges().wishes.map(\.number) == [number])
        #expect(board.takeChanges().wishes.isEmpty)
        board.touch(number)
        #expect(board.takeChanges().wishes.map(\.number) == [number])
    }

    @Test("the loop hears of the end of a wish that it has seen, once")
    func ended() throws {
        let number = try board.add(.path(Observers()))
        _ = board.takeChanges()
        board.remove(number)
        board.remove(number)
        board.touch(number)
        let changes = board.takeChanges()
        #expect(changes.ended == [number])
        #expect(changes.wishes.isEmpty)
        #expect(board.takeChanges().ended.isEmpty)
    }

    @Test("monitors that come and go while the loop is busy leave nothing behind")
    func churn() throws {
        for number in 0..<10_000 { board.remove(try board.add(wish(target(number)))) }
        let changes = board.takeChanges()
        #expect(changes.wishes.isEmpty)
        #expect(changes.ended.isEmpty)
    }

    @Test("as many targets are taken as the monitor takes, each counted once")
    func targetLimit() throws {
        var numbers: [UInt64] = []
        for number in 0..<NetworkMonitor.maximumTargets { numbers.append(try board.add(wish(target(number)))) }
        let error = #expect(throws: ReachabilityError.self) { try board.add(wish(target(-1))) }
        #expect(error?.code == .limit)
        let twin = try board.add(wish(target(0)))
        board.remove(twin)
        #expect(throws: ReachabilityError.self) { try board.add(wish(target(-1))) }
        board.remove(numbers[0])
        _ = try board.add(wish(target(-1)))
    }

    @Test("a bounded number of monitors is taken")
    func monitorLimit() throws {
        for _ in 0..<WatchBoard.maximumMonitors { _ = try board.add(.path(Observers())) }
        let error = #expect(throws: ReachabilityError.self) { try board.add(.path(Observers())) }
        #expect(error?.code == .limit)
    }

    @Test("a closed board takes no wish")
    func closed() throws {
        board.close()
        let error = #expect(throws: ReachabilityError.self) { try board.add(.path(Observers())) }
        #expect(error?.code == .closed)
    }

    @Test("a path that is the same is not news")
    func path() {
        #expect(!board.publish(NetworkPath(status: .satisfied)))
        #expect(board.publish(NetworkPath(status: .unsatisfied)))
        #expect(board.path.status == .unsatisfied)
    }
}

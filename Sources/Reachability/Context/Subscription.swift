internal import RunLoop
internal import Synchronization

/// A monitor's entry on the board of a context. Keeps the context alive until the monitor is cancelled.
final class Subscription<Value: Sendable>: Sendable {
    let board: WatchBoard
    private let observers: Observers<Value>
    private let number: UInt64
    /// The context, until the monitor is cancelled; nil for a context that its owner drives.
    private let context: Mutex<ReachabilityContext?>

    /// - Throws: `closed`, or `limit`.
    init(
        on board: WatchBoard, context: ReachabilityContext?, _ wish: (Observers<Value>) -> WatchBoard.Wish
    ) throws(ReachabilityError) {
        observers = Observers()
        self.board = board
        self.context = Mutex(context)
        number = try board.add(wish(observers))
    }

    /// The newest value; nil before the first.
    var value: Value? { observers.value }

    func onUpdate(_ body: @escaping @Sendable (Value) -> Void) {
        if observers.add(.init(body: body)) != nil { board.touch(number) }
    }

    /// - Parameter owner: kept alive while the stream has a reader.
    func stream(holding owner: any Sendable) -> AsyncStream<Value> {
        observers.stream(holding: owner) { board.touch(number) }
    }

    /// Has the loop take another look at the target.
    func refresh() { board.touch(number) }

    func cancel() {
        board.remove(number)
        observers.finish()
        // Release the context outside the lock: this may be its last reference.
        _ = context.withLock { context in
            defer { context = nil }
            return context
        }
    }
}

internal import RunLoop
internal import Synchronization

/// One monitor's place on the board of a context, and the context itself while it needs it.
final class Subscription<Value: Sendable>: Sendable {
    let board: WatchBoard
    private let observers: Observers<Value>
    private let number: UInt64
    /// Kept while the monitor is not cancelled; nil for one that its owner drives.
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

    /// - Parameter owner: Whose end would end the stream: it lives as long as the stream has a reader.
    func stream(holding owner: any Sendable) -> AsyncStream<Value> {
        observers.stream(holding: owner) { board.touch(number) }
    }

    func cancel() {
        board.remove(number)
        observers.finish()
        // Its end, if this is the last reference, comes when the lock is free again.
        _ = context.withLock { context in
            defer { context = nil }
            return context
        }
    }
}

internal import Database

/// Makes room for what is new on a full disk: it gives up the reserve, and then the oldest history.
nonisolated final class StoreRoom {
    /// How often history gives way for one transaction, and how many of its pushes and calls at a time.
    private static let givingWay = (attempts: 8, rows: 64)
    /// While room is short: the size of the log from which it is moved into the store, and the number of free pages
    /// below which history gives way. Removing 64 pushes and calls frees about twice as many.
    private static let short = (logPages: 32, freePages: 8)

    private let store: Store
    private let reserve: StoreReserve
    /// Whether the disk was full, and there is no reserve since.
    private var isShort: Bool
    /// Pushes and calls that were removed and not reported yet.
    private var removed = 0

    init(of store: Store) {
        self.store = store
        reserve = StoreReserve(inDirectory: store.file.directory)
        isShort = !reserve.take()
    }

    /// Runs a transaction. On a full disk, the oldest history gives way to it.
    func making<Value>(_ body: () throws(SQLiteFailure) -> Value) throws(SQLiteFailure) -> Value {
        for _ in 0..<Self.givingWay.attempts {
            do throws(SQLiteFailure) {
                return try body()
            } catch {
                guard error.isFull, try giveWay() else { throw error }
            }
        }
        return try body()
    }

    /// While room is short, the log stays small, and new rows take the pages of the oldest: a log that uses up the room
    /// could not be moved into the store any more. Call it after each commit.
    func keep() throws(SQLiteFailure) {
        guard isShort else { return }
        isShort = !reserve.take()
        guard isShort else { return }
        if store.connection.logPages >= Self.short.logPages { try store.checkpoint() }
        if reserve.isHalfUsed, try store.freePages() < Self.short.freePages { _ = try dropHistory() }
    }

    /// How many pushes and calls were removed since the last call.
    func takeRemoved() -> Int {
        defer { removed = 0 }
        return removed
    }

    /// Gives up the reserve, or else the oldest history.
    /// - Returns: false if neither is left.
    /// - Throws: if the store turns out to be damaged.
    private func giveWay() throws(SQLiteFailure) -> Bool {
        isShort = true
        let hadReserve = reserve.giveUp()
        do throws(SQLiteFailure) {
            // The log begins again then, in the room that it has.
            try store.checkpoint()
            return hadReserve ? true : try dropHistory()
        } catch {
            if error.isDamage { throw error }
            return hadReserve
        }
    }

    private func dropHistory() throws(SQLiteFailure) -> Bool {
        let count =
            try store.removePushes(Self.givingWay.rows, received: .min ... .max)
            + store.removeCalls(Self.givingWay.rows, received: .min ... .max)
        removed += count
        return count > 0
    }
}

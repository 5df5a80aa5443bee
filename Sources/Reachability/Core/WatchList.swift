/// The watches of one value.
struct WatchList<Value> {
    /// The watches to notify.
    enum Audience {
        /// Those that were never notified.
        case new
        /// Those that have been notified before.
        case informed
        case all
    }

    private struct Entry {
        let body: (Value) -> Void
        /// Whether it has not been notified yet.
        var isNew = true
    }

    private var entries: [UInt64: Entry] = [:]
    private var lastID: UInt64 = 0

    var isEmpty: Bool { entries.isEmpty }

    mutating func add(_ body: @escaping (Value) -> Void) -> UInt64 {
        lastID += 1
        entries[lastID] = Entry(body: body)
        return lastID
    }

    /// - Returns: The body. The caller keeps it until this list has changed: the body may hold the last reference to
    ///   another watch, whose end changes the list too.
    mutating func remove(_ id: UInt64) -> ((Value) -> Void)? {
        entries.removeValue(forKey: id)?.body
    }

    /// The watches to notify now, in the order in which they were added. They are no longer new afterwards.
    mutating func listeners(_ audience: Audience) -> [UInt64] {
        let ids = entries.filter { audience == .all || $0.value.isNew == (audience == .new) }.keys.sorted()
        for id in ids { entries[id]?.isNew = false }
        return ids
    }

    /// The body to call; nil if the watch has ended meanwhile, for example by another body.
    func body(_ id: UInt64) -> ((Value) -> Void)? { entries[id]?.body }
}

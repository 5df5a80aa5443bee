/// Who is to be told of one thing.
struct WatchList<Value> {
    private struct Entry {
        let body: (Value) -> Void
        /// It was told nothing so far.
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

    /// - Returns: The body. The caller keeps it until this list is no longer being changed: what it holds may be the last
    ///   reference to another watch, which ends with it and changes the list as well.
    mutating func remove(_ id: UInt64) -> ((Value) -> Void)? {
        entries.removeValue(forKey: id)?.body
    }

    /// Who is to be told now, in the order in which they came; they are not new after this.
    mutating func listeners(onlyNew: Bool) -> [UInt64] {
        let ids = entries.filter { !onlyNew || $0.value.isNew }.keys.sorted()
        for id in ids { entries[id]?.isNew = false }
        return ids
    }

    /// What to call, unless the watch has ended meanwhile: a body may end any watch.
    func body(_ id: UInt64) -> ((Value) -> Void)? { entries[id]?.body }
}

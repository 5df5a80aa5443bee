import RingwakeCore

/// The only code that finds what a shortened id on the command line means. An exact id always wins over a prefix.
struct ShortID<Item> {
    /// Minimum characters of a prefix, so that a typing mistake seldom means something.
    static var minimumCharacters: Int { 4 }
    /// Maximum items in an error, so that it stays readable.
    static var maximumNamed: Int { 5 }

    /// What the ids name: `calls`.
    let plural: String
    /// Stands before the items in an error: `In progress`.
    let heading: String
    /// Minimum characters of an id in an error: enough to recognize it in a list.
    var namedCharacters = 8
    /// The item's whole id.
    let id: (Item) -> String
    /// What tells the item from others, for people; empty if only the id does.
    let details: (Item) -> String

    /// Does `act` with the id as the user wrote it. If the daemon knows no such id, finds the only one of `items` that
    /// begins with it.
    ///
    /// - Parameters:
    ///   - list: gets the items that a prefix may mean.
    ///   - found: does the same as `act` with an item.
    func use<Answer>(
        _ written: String, _ act: () throws(RingwakeError) -> Answer, list: () throws(RingwakeError) -> [Item],
        found: (Item) throws(RingwakeError) -> Answer
    ) throws(RingwakeError) -> Answer {
        do throws(RingwakeError) {
            return try act()
        } catch {
            guard error.code == .notFound else { throw error }
            let items = try list()
            guard let item = try match(written, among: items) else {
                let count = written.count < Self.minimumCharacters ? Self.minimumCharacters : nil
                let rule = count.map { "; an id may be cut to its first \($0) or more characters" } ?? ""
                let others = items.isEmpty ? "" : ". \(heading): \(named(items))"
                throw RingwakeError(.notFound, error.message + rule + others)
            }
            return try found(item)
        }
    }

    /// The only item whose id begins with `written`, in upper or lower case; nil if there is none.
    ///
    /// - Throws: `conflict` if there are several.
    func match(_ written: String, among items: [Item]) throws(RingwakeError) -> Item? {
        guard written.count >= Self.minimumCharacters else { return nil }
        let prefix = written.lowercased()
        let matches = items.filter { id($0).lowercased().hasPrefix(prefix) }
        guard matches.count <= 1 else {
            throw RingwakeError(
                .conflict,
                "several \(plural) begin with '\(written)': \(named(matches)); give more characters of the id")
        }
        return matches.first
    }

    /// `7b0e2f2a (Alice, ringing), 9c1d44e0 (Bob, held)`: each id as short as it may be typed.
    func named(_ items: [Item]) -> String {
        let names = items.prefix(Self.maximumNamed).map { item in
            let details = details(item)
            return short(id(item), among: items) + (details.isEmpty ? "" : " (\(details))")
        }
        let more = items.count - names.count
        return names.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }

    /// The first characters of `whole` that no other of `items` begins with.
    func short(_ whole: String, among items: [Item]) -> String {
        let others = items.map { id($0).lowercased() }.filter { $0 != whole.lowercased() }
        var count = namedCharacters
        while count < whole.count, others.contains(where: { $0.hasPrefix(whole.prefix(count).lowercased()) }) {
            count += 1
        }
        return String(whole.prefix(count))
    }
}

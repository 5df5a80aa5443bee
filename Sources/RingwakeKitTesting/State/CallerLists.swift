internal import RingwakeCore

/// The lists of callers of a simulated daemon: looked through one by one, as a test's lists are short.
struct CallerLists: Sendable {
    struct List: Sendable {
        let kind: CallerListKind
        var source: String?
        /// Labels by pattern.
        var entries: [CallerPattern: String?] = [:]
    }

    var byName: [String: List] = [:]
    /// Imports that go on, by id.
    var imports: [String: (list: String, kind: CallerListKind?, entries: [CallerPattern: String?])] = [:]
    var importsMade = 0

    /// What all lists together say of a caller: of each kind the closest entry.
    func verdict(on caller: CallerHandle) -> ListVerdict? {
        ListVerdict(blocked: match(caller, .block), identified: match(caller, .identify))
    }

    private func match(_ caller: CallerHandle, _ kind: CallerListKind) -> ListMatch? {
        let found = byName.sorted { $0.key < $1.key }.filter { $0.value.kind == kind }.flatMap { name, list in
            list.entries.filter { $0.key.matches(caller) }.map { pattern, label in
                ListMatch(list: name, pattern: pattern, label: label)
            }
        }
        return found.max { $0.pattern.closeness < $1.pattern.closeness }
    }
}

extension CallerPattern {
    /// The caller itself is closer than a prefix, a longer prefix closer than a shorter one, and the host comes last.
    fileprivate var closeness: Int {
        switch kind {
        case .exact, .anonymous: 1000
        case .numberPrefix(let prefix): prefix.utf8.count
        case .domain: 0
        }
    }
}

internal import ControlProtocol

// Lists of callers.
extension ClientPort {
    /// How many bytes of entries one request has at most: below the daemon's limit of a body.
    private static let pieceBytes = 48 << 10

    func callerLists() async throws(RingwakeKitError) -> [CallerList] {
        let message: CallerListsMessage = try await ask("GET", RequestTarget("lists"))
        return try message.lists.map { (list) throws(RingwakeKitError) in try CallerList(list) }
    }

    func makeList(_ name: String, _ kind: CallerList.Kind) async throws(RingwakeKitError) -> CallerList {
        let message: CallerListMessage = try await ask(
            "PUT", RequestTarget("lists", name), CallerListCreation(kind: kind.rawValue), isRepeatable: true)
        return try CallerList(message)
    }

    func changeList(
        _ name: String, add: [CallerEntry], remove: [String]
    ) async throws(RingwakeKitError) -> CallerList {
        let change = CallerListChange(
            add: add.isEmpty ? nil : add.map { CallerEntryMessage(pattern: $0.pattern, label: $0.label) },
            remove: remove.isEmpty ? nil : remove)
        let message: CallerListMessage = try await ask(
            "POST", RequestTarget("lists", name, "entries"), change, isRepeatable: true)
        return try CallerList(message)
    }

    func replaceList(
        _ name: String, _ kind: CallerList.Kind, _ entries: [CallerEntry], _ source: String?
    ) async throws(RingwakeKitError) -> CallerList {
        let pieces = try Self.pieces(of: entries)
        let begun: ImportMessage = try await ask(
            "POST", RequestTarget("lists", name, "import"), ImportBeginning(kind: kind.rawValue))
        do throws(RingwakeKitError) {
            for piece in pieces {
                let _: ImportMessage = try await ask(
                    RequestDesk.Request(
                        .user, "POST", RequestTarget("imports", begun.id), body: piece, isJSON: false))
            }
            let message: CallerListMessage = try await ask(
                "POST", RequestTarget("imports", begun.id, "finish"), ImportFinish(source: source))
            return try CallerList(message)
        } catch {
            // The list stays as it was either way, and the daemon drops an import that nobody goes on with.
            let _: Result<ImportMessage, RingwakeKitError> = await result { () throws(RingwakeKitError) in
                try await ask("DELETE", RequestTarget("imports", begun.id))
            }
            throw error
        }
    }

    private func result<Value>(
        _ body: () async throws(RingwakeKitError) -> Value
    ) async -> Result<Value, RingwakeKitError> {
        do throws(RingwakeKitError) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    /// Lines of `pattern TAB label LF`, as many in each piece as one request takes.
    private static func pieces(of entries: [CallerEntry]) throws(RingwakeKitError) -> [[UInt8]] {
        var pieces: [[UInt8]] = [[]]
        for entry in entries {
            let texts = [entry.pattern] + (entry.label.map { [$0] } ?? [])
            guard texts.allSatisfy({ !$0.utf8.contains { $0 < 0x20 } }) else {
                throw RingwakeKitError(
                    .invalidRequest, "the entry '\(entry.pattern)' holds a tab, an end of line or the like")
            }
            let line = Array(texts.joined(separator: "\t").utf8) + [UInt8(ascii: "\n")]
            guard line.count <= pieceBytes else {
                throw RingwakeKitError(.invalidRequest, "an entry has more than \(pieceBytes) bytes")
            }
            if (pieces.last?.count ?? 0) + line.count > pieceBytes { pieces.append([]) }
            pieces[pieces.count - 1] += line
        }
        return pieces.filter { !$0.isEmpty }
    }

    func deleteList(_ name: String) async throws(RingwakeKitError) {
        let _: CallerListMessage = try await ask("DELETE", RequestTarget("lists", name))
    }

    func entries(of name: String, after: String?) async throws(RingwakeKitError) -> [CallerEntry] {
        let limit = String(ControlAPI.maximumListLimit)
        let message: CallerEntriesMessage = try await ask(
            "GET", RequestTarget("lists", name, query: [("after", after), ("limit", limit)]))
        return message.entries.map { CallerEntry($0.pattern, label: $0.label) }
    }

    func check(_ caller: String) async throws(RingwakeKitError) -> CallerCheck {
        let message: CallerCheckMessage = try await ask(
            "GET", RequestTarget("lists", "check", query: [("caller", caller)]))
        return CallerCheck(
            caller: message.caller, rings: message.rings, list: message.list, pattern: message.pattern,
            identifiedAs: message.identifiedAs, filter: message.restriction.flatMap { CallFilter(rawValue: $0.kind) })
    }
}

extension CallerList {
    fileprivate init(_ message: CallerListMessage) throws(RingwakeKitError) {
        guard let kind = Kind(rawValue: message.kind) else {
            throw RingwakeKitError(.badAnswer, "the list '\(message.list)' is of a kind that is not known here")
        }
        self.init(name: message.list, kind: kind, count: message.entries, source: message.source)
    }
}

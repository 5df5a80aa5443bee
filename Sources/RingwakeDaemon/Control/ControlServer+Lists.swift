internal import ControlProtocol
internal import HTTPServer
internal import PushJournal
internal import RingwakeCore

// `/v1/lists` and `/v1/imports`: the block and identification lists.
extension ControlServer {
    func lists(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.caller.requireOwner()
        switch (request.method, request.parts.count) {
        case (_, 1): try allLists(request, exchange)
        case ("GET", 2) where request.parts[1] == "check": exchange.respond(.success(try check(request)))
        case ("GET", 2): try entries(request, exchange)
        case ("PUT", 2): try createList(request, exchange)
        case ("DELETE", 2):
            try request.require("DELETE")
            lists.removeList(request.parts[1]) { [self] in changed($0, exchange) }
        case ("POST", 3) where request.parts[2] == "entries": try changeEntries(request, exchange)
        case ("POST", 3) where request.parts[2] == "import": try beginImport(request, exchange)
        default: throw RingwakeError(.notFound, "there is nothing for \(request.method) at \(request.target)")
        }
    }

    func imports(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.caller.requireOwner()
        guard request.parts.count > 1 else { throw RingwakeError(.notFound, "there is nothing at \(request.target)") }
        let id = request.parts[1]
        switch (request.method, request.parts.count) {
        case ("POST", 2):
            lists.append(try importedEntries(request), to: id) { exchange.respond($0.map { ImportMessage($0) }) }
        case ("DELETE", 2):
            lists.abortImport(id) { exchange.respond($0.map { ImportMessage($0) }) }
        case ("POST", 3) where request.parts[2] == "finish":
            let end = try request.decode(ImportFinish.self, empty: ImportFinish())
            guard (end.etag ?? "").unicodeScalars.count <= 256, (end.source ?? "").unicodeScalars.count <= 4096 else {
                throw RingwakeError(.invalidRequest, "'etag' has at most 256 characters, 'source' at most 4096")
            }
            lists.finishImport(id, etag: end.etag, source: end.source) { [self] in changed($0, exchange) }
        default: throw RingwakeError(.notFound, "there is nothing for \(request.method) at \(request.target)")
        }
    }

    private var lists: PushJournal { runner.journal }

    // MARK: - Reading

    private func allLists(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET")
        lists.lists { exchange.respond($0.map { CallerListsMessage(lists: $0.map { CallerListMessage($0) }) }) }
    }

    private func entries(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET", parameters: ["after", "limit"])
        let (name, limit) = (request.parts[1], try request.page().limit)
        guard (1...1024).contains(request.query["after"]?.unicodeScalars.count ?? 1) else {
            throw RingwakeError(.invalidRequest, "'after' is the last pattern of the page before")
        }
        lists.entries(of: name, after: request.query["after"], limit: limit + 1) { result in
            exchange.respond(
                result.map { found in
                    let shown = found.prefix(limit)
                    return CallerEntriesMessage(
                        list: name,
                        entries: shown.map { CallerEntryMessage(pattern: $0.pattern.description, label: $0.label) },
                        next: found.count > limit ? shown.last?.pattern.description : nil)
                })
        }
    }

    private func check(_ request: ControlRequest) throws(RingwakeError) -> CallerCheckMessage {
        try request.require("GET", parameters: ["caller"])
        guard let text = request.query["caller"] else {
            throw RingwakeError(.invalidRequest, "'caller' is missing: who is asked about")
        }
        guard text.unicodeScalars.count <= 1024 else {
            throw RingwakeError(.invalidRequest, "'caller' has more than 1024 characters")
        }
        let caller = CallerHandle(text, rules: runner.screen.dialling)
        let (listed, restriction) = runner.screen.check(caller, at: runner.now)
        let match = listed?.blocked ?? listed?.identified
        return CallerCheckMessage(
            caller: caller.description, rings: restriction == nil, list: match?.list,
            pattern: match?.pattern.description, identifiedAs: listed?.label,
            restriction: restriction.map { RestrictionMessage($0) })
    }

    // MARK: - Changing

    private func createList(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("PUT")
        let name = request.parts[1]
        try checkName(name)
        let creation = try request.decode(CallerListCreation.self, empty: CallerListCreation())
        lists.createList(name, kind: try kind(creation.kind)) { exchange.respond($0.map { CallerListMessage($0) }) }
    }

    private func changeEntries(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        let change = try request.decode(CallerListChange.self, empty: nil)
        var (added, removed): ([CallerEntry], [CallerPattern]) = ([], [])
        for entry in change.add ?? [] {
            let pattern = try CallerPattern(entry.pattern, rules: runner.screen.dialling)
            added.append(CallerEntry(pattern: pattern, label: entry.label))
        }
        for text in change.remove ?? [] { removed.append(try CallerPattern(text, rules: runner.screen.dialling)) }
        lists.changeEntries(of: request.parts[1], add: added, remove: removed) { [self] in changed($0, exchange) }
    }

    private func beginImport(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        let beginning = try request.decode(CallerListCreation.self, empty: CallerListCreation())
        try checkName(request.parts[1])
        lists.beginImport(into: request.parts[1], kind: try kind(beginning.kind)) {
            exchange.respond($0.map { ImportMessage($0) })
        }
    }

    /// A list's name stands in paths and on command lines.
    private func checkName(_ name: String) throws(RingwakeError) {
        let isPlain = name.unicodeScalars.allSatisfy { scalar in
            scalar.isASCII
                && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                    || "-_.".unicodeScalars.contains(scalar))
        }
        guard isPlain, (1...64).contains(name.utf8.count), !name.hasPrefix("."), name != "check" else {
            throw RingwakeError(
                .invalidRequest,
                "a list's name is 1 to 64 letters, digits, '-', '_' and '.', does not begin with a dot, and is not 'check'"
            )
        }
    }

    private func kind(_ name: String?) throws(RingwakeError) -> CallerListKind? {
        guard let name else { return nil }
        guard let kind = CallerListKind(rawValue: name) else {
            throw RingwakeError(.invalidRequest, "'kind' is 'block' or 'identify', not '\(name)'")
        }
        return kind
    }

    /// Lines of `pattern TAB label LF`, the tab and the label left out where there is none.
    private func importedEntries(_ request: ControlRequest) throws(RingwakeError) -> [CallerEntry] {
        try request.require("POST")
        guard !request.body.isEmpty else { throw RingwakeError(.invalidRequest, "the body has no entries") }
        guard let text = String(validating: request.body, as: UTF8.self) else {
            throw RingwakeError(.invalidRequest, "the body is not UTF-8")
        }
        var entries: [CallerEntry] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty { continue }
            let parts = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
            do throws(RingwakeError) {
                let pattern = try CallerPattern(String(parts[0]), rules: runner.screen.dialling)
                entries.append(CallerEntry(pattern: pattern, label: parts.count > 1 ? String(parts[1]) : nil))
            } catch {
                throw RingwakeError(.invalidRequest, "line \(index + 1): \(error.message)")
            }
        }
        return entries
    }

    /// A list has changed: it is answered when calls are looked up in the changed one.
    private func changed(_ result: Result<CallerListRecord, RingwakeError>, _ exchange: any HTTPExchange) {
        guard case .success(let list) = result else { return exchange.respond(result.map { CallerListMessage($0) }) }
        callerLists.rebuild { exchange.respond($0.map { CallerListMessage(list) }) }
    }
}

extension CallerListMessage {
    fileprivate nonisolated init(_ list: CallerListRecord) {
        self.init(
            list: list.name, kind: list.kind.rawValue, entries: list.entries, source: list.source, etag: list.etag,
            updatedAt: UTCTime(milliseconds: list.updatedWallClock).description)
    }
}

extension ImportMessage {
    fileprivate nonisolated init(_ listImport: CallerListImport) {
        self.init(id: listImport.id, list: listImport.list, entries: listImport.entries)
    }
}

internal import ControlProtocol
internal import RingwakeCore

/// `/v1/lists` and `/v1/imports`: the block and identification lists.
enum ListRoutes {
    static func answer(
        _ request: ServiceRequest, _ service: CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        try request.caller.requireOwner()
        if request.parts == ["lists", "check"], request.method == "GET" {
            return turn.respond(request.id, try check(request, service, turn))
        }
        let command = try command(of: request, service.screening.rules.dialling)
        turn.add(
            .lists(command) { result in
                .resumed { _, turn in turn.respond(request.id, result.map { message(of: $0, command) }) }
            })
    }

    private static func command(
        of request: ServiceRequest, _ rules: DiallingRules
    ) throws(RingwakeError) -> CallerListCommand {
        let name = request.parts.count > 1 ? request.parts[1] : ""
        let isPage = (request.parts[0], request.method, request.parts.count) == ("lists", "GET", 2)
        // Only a page of entries has parameters.
        if !isPage { try request.require(request.method) }
        switch (request.parts[0], request.method, request.parts.count) {
        case ("lists", _, 1):
            try request.require("GET")
            return .all
        case ("lists", "GET", 2): return try entries(request)
        case ("lists", "PUT", 2):
            try checkName(name)
            let creation = try request.decode(CallerListCreation.self, empty: CallerListCreation())
            return .create(name, try kind(creation.kind))
        case ("lists", "DELETE", 2): return .remove(name)
        case ("lists", "POST", 3) where request.parts[2] == "entries": return try change(request, rules)
        case ("lists", "POST", 3) where request.parts[2] == "import":
            let beginning = try request.decode(CallerListCreation.self, empty: CallerListCreation())
            try checkName(name)
            return .beginImport(into: name, try kind(beginning.kind))
        case ("imports", "POST", 2): return .append(try importedEntries(request, rules), to: name)
        case ("imports", "DELETE", 2): return .abortImport(name)
        case ("imports", "POST", 3) where request.parts[2] == "finish":
            let end = try request.decode(ImportFinish.self, empty: ImportFinish())
            guard (end.etag ?? "").unicodeScalars.count <= 256, (end.source ?? "").unicodeScalars.count <= 4096 else {
                throw RingwakeError(.invalidRequest, "'etag' has at most 256 characters, 'source' at most 4096")
            }
            return .finishImport(name, etag: end.etag, source: end.source)
        default: throw RingwakeError(.notFound, "there is nothing for \(request.method) at \(request.target)")
        }
    }

    private static func message(of result: CallerListResult, _ command: CallerListCommand) -> any Encodable {
        switch result {
        case .lists(let lists): return CallerListsMessage(lists: lists.map { CallerListMessage($0) })
        case .list(let list): return CallerListMessage(list)
        case .listImport(let listImport):
            return ImportMessage(id: listImport.id, list: listImport.list, entries: listImport.entries)
        case .entries(let found):
            // The command asked for one entry more than the page, to detect a next page.
            let (name, limit) =
                if case .entries(let name, _, let asked) = command { (name, asked - 1) } else { ("", found.count) }
            let shown = found.prefix(limit)
            return CallerEntriesMessage(
                list: name,
                entries: shown.map { CallerEntryMessage(pattern: $0.pattern.description, label: $0.label) },
                next: found.count > limit ? shown.last?.pattern.description : nil)
        }
    }

    private static func entries(_ request: ServiceRequest) throws(RingwakeError) -> CallerListCommand {
        try request.require("GET", parameters: ["after", "limit"])
        guard (1...1024).contains(request.query["after"]?.unicodeScalars.count ?? 1) else {
            throw RingwakeError(.invalidRequest, "'after' is the last pattern of the page before")
        }
        return .entries(of: request.parts[1], after: request.query["after"], limit: try request.page().limit + 1)
    }

    private static func check(
        _ request: ServiceRequest, _ service: CallServiceStateMachine, _ turn: Turn
    ) throws(RingwakeError) -> CallerCheckMessage {
        try request.require("GET", parameters: ["caller"])
        guard let text = request.query["caller"] else {
            throw RingwakeError(.invalidRequest, "'caller' is missing: who is asked about")
        }
        guard text.unicodeScalars.count <= 1024 else {
            throw RingwakeError(.invalidRequest, "'caller' has more than 1024 characters")
        }
        let caller = CallerHandle(text, rules: service.screening.rules.dialling)
        let (listed, restriction) = service.screening.check(caller, turn)
        return CallerCheckMessage(caller, listed, restriction)
    }

    private static func change(
        _ request: ServiceRequest, _ rules: DiallingRules
    ) throws(RingwakeError) -> CallerListCommand {
        let change = try request.decode(CallerListChange.self, empty: nil)
        var (added, removed): ([CallerEntry], [CallerPattern]) = ([], [])
        for entry in change.add ?? [] {
            added.append(CallerEntry(pattern: try CallerPattern(entry.pattern, rules: rules), label: entry.label))
        }
        for text in change.remove ?? [] { removed.append(try CallerPattern(text, rules: rules)) }
        return .change(request.parts[1], add: added, remove: removed)
    }

    /// A list's name is used in paths and on command lines.
    private static func checkName(_ name: String) throws(RingwakeError) {
        guard ControlAPI.isListName(name) else {
            throw RingwakeError(
                .invalidRequest,
                "a list's name is 1 to 64 letters, digits, '-', '_' and '.', does not begin with a dot, and is not 'check'"
            )
        }
    }

    private static func kind(_ name: String?) throws(RingwakeError) -> CallerListKind? {
        guard let name else { return nil }
        guard let kind = CallerListKind(rawValue: name) else {
            throw RingwakeError(.invalidRequest, "'kind' is 'block' or 'identify', not '\(name)'")
        }
        return kind
    }

    /// Parses lines of `pattern TAB label LF`; the tab and the label are optional.
    private static func importedEntries(
        _ request: ServiceRequest, _ rules: DiallingRules
    ) throws(RingwakeError) -> [CallerEntry] {
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
                let pattern = try CallerPattern(String(parts[0]), rules: rules)
                entries.append(CallerEntry(pattern: pattern, label: parts.count > 1 ? String(parts[1]) : nil))
            } catch {
                throw RingwakeError(.invalidRequest, "line \(index + 1): \(error.message)")
            }
        }
        return entries
    }
}

extension CallerListMessage {
    fileprivate init(_ list: CallerListRecord) {
        self.init(
            list: list.name, kind: list.kind.rawValue, entries: list.entries, source: list.source, etag: list.etag,
            updatedAt: UTCTime(milliseconds: list.updatedWallClock).description)
    }
}

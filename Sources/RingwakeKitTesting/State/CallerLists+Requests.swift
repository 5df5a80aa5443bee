internal import ControlProtocol
internal import RingwakeCore

// `/v1/lists` and `/v1/imports` of a simulated daemon.
extension CallerLists {
    /// The JSON that answers a request.
    mutating func answer(
        _ method: String, _ parts: [String], _ query: [String: String], _ body: [UInt8], _ judge: CallerJudge
    ) throws(RingwakeError) -> [UInt8] {
        switch (method, parts.first, parts.count) {
        case ("GET", "lists", 1):
            return controlJSON(CallerListsMessage(lists: byName.keys.sorted().compactMap { message(of: $0) }))
        case ("GET", "lists", 2) where parts[1] == "check":
            return controlJSON(check(query["caller"] ?? "", judge))
        case ("GET", "lists", 2): return controlJSON(try entries(of: parts[1], query))
        case ("PUT", "lists", 2):
            let creation = try ControlBody.decode(CallerListCreation.self, from: body, empty: CallerListCreation())
            try make(parts[1], try kind(creation.kind))
        case ("DELETE", "lists", 2):
            let removed = try known(parts[1])
            byName[parts[1]] = nil
            return controlJSON(removed)
        case ("POST", "lists", 3) where parts[2] == "entries":
            try change(parts[1], try ControlBody.decode(CallerListChange.self, from: body, empty: nil))
        case ("POST", "lists", 3) where parts[2] == "import":
            let beginning = try ControlBody.decode(CallerListCreation.self, from: body, empty: CallerListCreation())
            importsMade += 1
            imports["\(importsMade)"] = (parts[1], try kind(beginning.kind), [:])
            return controlJSON(ImportMessage(id: "\(importsMade)", list: parts[1]))
        case ("POST", "imports", 2): return controlJSON(try append(body, to: parts[1]))
        case ("DELETE", "imports", 2):
            let ended = try running(parts[1])
            imports[parts[1]] = nil
            return controlJSON(ImportMessage(id: parts[1], list: ended.list, entries: ended.entries.count))
        case ("POST", "imports", 3) where parts[2] == "finish":
            return controlJSON(
                try finish(parts[1], try ControlBody.decode(ImportFinish.self, from: body, empty: ImportFinish())))
        default: throw RingwakeError(.notFound, "there is nothing for \(method) at /v1/\(parts.joined(separator: "/"))")
        }
        return controlJSON(try known(parts[1]))
    }

    private func message(of name: String) -> CallerListMessage? {
        byName[name].map {
            CallerListMessage(list: name, kind: $0.kind.rawValue, entries: $0.entries.count, source: $0.source)
        }
    }

    private func known(_ name: String) throws(RingwakeError) -> CallerListMessage {
        guard let message = message(of: name) else { throw Self.noList(name) }
        return message
    }

    private static func noList(_ name: String) -> RingwakeError { RingwakeError(.notFound, "no list '\(name)'") }

    private func running(
        _ id: String
    ) throws(RingwakeError) -> (list: String, kind: CallerListKind?, entries: [CallerPattern: String?]) {
        guard let found = imports[id] else { throw RingwakeError(.notFound, "no import '\(id)'") }
        return found
    }

    private func kind(_ name: String?) throws(RingwakeError) -> CallerListKind? {
        guard let name else { return nil }
        guard let kind = CallerListKind(rawValue: name) else {
            throw RingwakeError(.invalidRequest, "'kind' is 'block' or 'identify', not '\(name)'")
        }
        return kind
    }

    private mutating func make(_ name: String, _ kind: CallerListKind?) throws(RingwakeError) {
        if let there = byName[name], let kind, there.kind != kind {
            throw RingwakeError(.conflict, "the list '\(name)' is there, and its kind is \(there.kind.rawValue)")
        }
        byName[name] = byName[name] ?? List(kind: kind ?? .block)
    }

    private mutating func change(_ name: String, _ change: CallerListChange) throws(RingwakeError) {
        guard var list = byName[name] else { throw Self.noList(name) }
        for entry in change.add ?? [] { list.entries[try CallerPattern(entry.pattern)] = .some(entry.label) }
        for text in change.remove ?? [] { list.entries.removeValue(forKey: try CallerPattern(text)) }
        byName[name] = list
    }

    private mutating func append(_ body: [UInt8], to id: String) throws(RingwakeError) -> ImportMessage {
        var found = try running(id)
        for line in String(decoding: body, as: UTF8.self).split(separator: "\n") {
            let halves = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
            found.entries[try CallerPattern(String(halves[0]))] = .some(halves.count > 1 ? String(halves[1]) : nil)
        }
        imports[id] = found
        return ImportMessage(id: id, list: found.list, entries: found.entries.count)
    }

    private mutating func finish(_ id: String, _ end: ImportFinish) throws(RingwakeError) -> CallerListMessage {
        let found = try running(id)
        try make(found.list, found.kind)
        imports[id] = nil
        byName[found.list]?.entries = found.entries
        byName[found.list]?.source = end.source
        return try known(found.list)
    }

    private func entries(
        of name: String, _ query: [String: String]
    ) throws(RingwakeError) -> CallerEntriesMessage {
        guard let list = byName[name] else { throw Self.noList(name) }
        let limit = query["limit"].flatMap { Int($0) } ?? ControlAPI.defaultListLimit
        let sorted = list.entries.map { (pattern: $0.key.description, label: $0.value) }
            .sorted { $0.pattern < $1.pattern }.filter { $0.pattern > (query["after"] ?? "") }
        let shown = sorted.prefix(limit)
        return CallerEntriesMessage(
            list: name, entries: shown.map { CallerEntryMessage(pattern: $0.pattern, label: $0.label) },
            next: sorted.count > limit ? shown.last?.pattern : nil)
    }

    private func check(_ text: String, _ judge: CallerJudge) -> CallerCheckMessage {
        let caller = CallerHandle(text)
        let listed = verdict(on: caller)
        let match = listed?.blocked ?? listed?.identified
        let restriction = judge.restriction(caller, listed)
        return CallerCheckMessage(
            caller: caller.description, rings: restriction == nil, list: match?.list,
            pattern: match?.pattern.description, identifiedAs: listed?.label,
            restriction: restriction.map { RestrictionMessage($0) })
    }
}

/// What the rules would say of a caller at some moment. Nothing is counted: the rules are a copy.
struct CallerJudge {
    let app: AppID
    let rules: ScreeningRules
    let now: BootInstant
    let moment: LocalMoment

    func restriction(_ caller: CallerHandle, _ listed: ListVerdict?) -> Restriction? {
        var trial = rules
        let call = ScreenedCall(call: CallKey(app: app, id: CallID("")), caller: caller, listed: listed)
        return trial.restriction(for: call, isReport: true, at: now, moment: moment)
    }
}

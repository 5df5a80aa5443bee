import ControlProtocol

/// Lists of callers, for people.
enum CallerListText {
    static func text(of lists: CallerListsMessage, style: TextStyle) -> String {
        guard !lists.lists.isEmpty else {
            return "no lists; 'ringwake block add PATTERN' and 'ringwake block import FILE' make one\n"
        }
        var table = TextTable([.left, .left, .right, .left, .left])
        table.add(["list", "kind", "entries", "changed", "source"])
        for list in lists.lists {
            table.add([
                list.list, list.kind, "\(list.entries)", list.updatedAt.map { style.times.short($0) } ?? "",
                list.source ?? "",
            ])
        }
        return table.list(style: style)
    }

    /// - Parameters:
    ///   - isFirst: whether headings come first.
    ///   - goesOn: whether the next page follows by itself.
    static func text(of page: CallerEntriesMessage, isFirst: Bool, goesOn: Bool, style: TextStyle) -> String {
        guard !page.entries.isEmpty else { return isFirst ? "no entries\n" : "" }
        var table = TextTable([.left, .left])
        if isFirst { table.add(["pattern", "label"]) }
        for entry in page.entries {
            table.add([entry.pattern, entry.label ?? ""])
        }
        let text =
            isFirst ? table.list(style: style) : table.lines().map { TerminalText.printable($0) + "\n" }.joined()
        guard !goesOn, let next = page.next else { return text }
        return text + style.dim("more: --after '\(TerminalText.printable(next))'") + "\n"
    }

    static func text(of check: CallerCheckMessage, style: TextStyle) -> String {
        let caller = TerminalText.printable(check.caller)
        var table = TextTable([.left, .left])
        if let restriction = check.restriction {
            table.add(["why", restriction.detail])
        }
        if let list = check.list {
            table.add(["list", list + (check.pattern.map { " (\($0))" } ?? "")])
        }
        if let name = check.identifiedAs { table.add(["maybe", name]) }
        let verdict = check.rings ? style.good("rings") : style.bad("is blocked")
        let lines = ["\(caller) \(verdict)"] + table.lines(indent: 2).map(TerminalText.printable)
        return lines.joined(separator: "\n") + "\n"
    }

    /// `blocked: 3 entries (block)`
    static func summary(of list: CallerListMessage) -> String {
        TerminalText.printable("\(list.list): \(entries(list.entries)) (\(list.kind))")
    }

    static func entries(_ count: Int) -> String {
        count == 1 ? "1 entry" : "\(count) entries"
    }
}

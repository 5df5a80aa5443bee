import ArgumentParser

/// The commands that the words of a command line name.
struct CommandTree {
    /// The innermost command.
    private var command: any ParsableCommand.Type = RingwakeCommand.self
    /// The words that name it, with the program's.
    private var path = [RingwakeCommand._commandName]

    /// Follows the command words at the beginning of `arguments`.
    private init(_ arguments: some Sequence<String>) {
        for argument in arguments {
            let children = command.configuration.subcommands
            guard let child = children.first(where: { $0._commandName == argument }) else { return }
            command = child
            path.append(argument)
        }
    }

    private var names: [String] { command.configuration.subcommands.map { $0._commandName } }

    // MARK: - Options before the command

    /// `arguments`, with options of all commands that stand before the command moved behind its words:
    /// `ringwake --socket PATH call list` is `ringwake call list --socket PATH`.
    static func arranged(_ arguments: [String]) -> [String] {
        var rest = arguments[...]
        var options: [String] = []
        while let first = rest.first {
            if first == "--socket", rest.count > 1 {
                options += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else if first == "--json" || first.hasPrefix("--socket=") {
                options.append(first)
                rest = rest.dropFirst()
            } else {
                break
            }
        }
        guard !options.isEmpty else { return arguments }
        let tree = CommandTree(rest)
        let words = tree.path.count - 1
        // A command that only groups others has no options. It prints its help, or names the mistake.
        let isGroup = !tree.names.isEmpty && tree.command.configuration.defaultSubcommand == nil
        return rest.prefix(words) + (isGroup ? [] : options) + rest.dropFirst(words)
    }

    // MARK: - Mistakes

    /// Says that a word is no command, and which was probably meant; nil if all command words are right.
    static func mistake(in arguments: [String]) -> String? {
        let arguments = arranged(arguments)
        let tree = CommandTree(arguments)
        guard let word = arguments.dropFirst(tree.path.count - 1).first, !word.hasPrefix("-"), !tree.names.isEmpty,
            word != "help"
        else { return nil }
        let group = tree.path.joined(separator: " ")
        let advice: String
        if let name = nearest(to: word, among: tree.names) {
            advice = "did you mean '\(name)'?"
        } else if let path = tree.path(below: word) {
            advice = "did you mean '\(path)'?"
        } else {
            advice = "'\(group) --help' lists the commands"
        }
        return "'\(word)' is not a command of '\(group)'; \(advice)"
    }

    /// The command in one of the groups of this command that `word` probably means: `ringwake call answer`.
    private func path(below word: String) -> String? {
        let groups = command.configuration.subcommands
        let names = groups.flatMap { $0.configuration.subcommands.map { $0._commandName } }
        guard let name = names.contains(word) ? word : CommandTree.nearest(to: word, among: names) else { return nil }
        let group = groups.first { $0.configuration.subcommands.contains { $0._commandName == name } }
        return group.map { (path + [$0._commandName, name]).joined(separator: " ") }
    }

    /// The one of `names` that `word` is probably a mistyped form of, or the beginning of; nil if it resembles none.
    static func nearest(to word: String, among names: [String]) -> String? {
        let longer = names.filter { $0.hasPrefix(word) }
        if longer.count == 1, word.count > 1 { return longer[0] }
        let distances = names.map { (name: $0, distance: distance(Array(word), Array($0))) }
        guard let best = distances.min(by: { $0.distance < $1.distance }) else { return nil }
        // More mistakes than a third of the letters make another word.
        return best.distance * 3 <= max(word.count, best.name.count) ? best.name : nil
    }

    /// How many typing mistakes are between two words: a letter too many, missing or wrong, or two letters exchanged.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var rows = [Array(0...right.count)]
        for row in 0..<left.count {
            var next = [row + 1]
            for column in 0..<right.count {
                let change = rows[row][column] + (left[row] == right[column] ? 0 : 1)
                var best = min(rows[row][column + 1] + 1, next[column] + 1, change)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, rows[row - 1][column - 1] + 1)
                }
                next.append(best)
            }
            rows.append(next)
        }
        return rows[left.count][right.count]
    }
}

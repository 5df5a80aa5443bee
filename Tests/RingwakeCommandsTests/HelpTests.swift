import ArgumentParser
import Testing

@testable import RingwakeCommands

@Suite("Help")
struct HelpTests {
    /// Each command with its words.
    private static let commands: [(words: [String], command: any ParsableCommand.Type)] = below(
        RingwakeCommand.self, [])

    private static func below(
        _ command: any ParsableCommand.Type, _ words: [String]
    ) -> [(words: [String], command: any ParsableCommand.Type)] {
        [(words, command)]
            + command.configuration.subcommands.flatMap { below($0, words + [$0.configuration.commandName ?? ""]) }
    }

    @Test("help shows each line of the examples unbroken, and every command has examples")
    func unbroken() {
        #expect(Self.commands.count > 40)
        for (words, command) in Self.commands {
            let help = ringwake(words + ["--help"])
            #expect(help.status == 0)
            let lines = Set(help.output.split(separator: "\n").map { $0.filter { $0 != " " } })
            let discussion = command.configuration.discussion
            #expect(discussion.hasPrefix("EXAMPLES:\n  "), "\(words)")
            for line in discussion.split(separator: "\n") {
                #expect(lines.contains(line.filter { $0 != " " }), "help of \(words) breaks '\(line)'")
            }
        }
    }

    @Test("each example is a command line that the parser accepts")
    func accepted() {
        var count = 0
        for (words, command) in Self.commands {
            let text = command.configuration.discussion.replacing("\\\n", with: " ")
            for line in text.split(separator: "\n") {
                guard let arguments = Self.arguments(of: line.drop { $0 == " " }) else { continue }
                count += 1
                // A default subcommand of a group has the same options.
                #expect(throws: Never.self, "\(words): \(line)") { try RingwakeCommand.parseAsRoot(arguments) }
            }
        }
        #expect(count > 100)
    }

    /// The words after `ringwake`, as a shell reads them, up to a pipe or a redirection; nil if it is another line.
    private static func arguments(of line: Substring) -> [String]? {
        guard line.hasPrefix("ringwake ") else { return nil }
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            if let open = quote {
                if character == open { quote = nil } else { word = (word ?? "") + String(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if character == " " {
                if let done = word { words.append(done) }
                word = nil
            } else if "|<>&;".contains(character) {
                break
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let word { words.append(word) }
        return Array(words.dropFirst())
    }

    @Test("--socket and the environment are in the help of each command that uses the daemon, and of ringwake itself")
    func socket() {
        for (words, command) in Self.commands where command is any DaemonCommand.Type || words.isEmpty {
            #expect(ringwake(words + ["--help"]).output.contains("--socket <path>"), "\(words)")
        }
    }

    @Test("no option takes a secret: other users see arguments in the list of processes")
    func secrets() {
        for (words, _) in Self.commands {
            let help = ringwake(words + ["--help"]).output
            for line in help.split(separator: "\n") where line.contains("password <") {
                Issue.record("\(words): \(line)")
            }
        }
    }
}

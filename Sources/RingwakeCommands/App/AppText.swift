import ControlProtocol

/// Apps for people.
enum AppText {
    static func text(of app: AppMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        table.add(["topic", TerminalText.printable(app.topic)])
        table.add(["state", TerminalText.printable(app.state)])
        if let connection = app.connection {
            table.add(["connection", ReachabilityText.text(of: connection, style: style)])
            for target in connection.targets ?? [] {
                table.add(["target", ReachabilityText.line(of: target, style: style)])
            }
        }
        for (environment, token) in app.tokens.sorted(by: { $0.key < $1.key }) {
            table.add(["token", "\(TerminalText.printable(token)) (\(TerminalText.printable(environment)))"])
        }
        table.add(["exec", command(app.exec)])
        table.add(["file", TerminalText.printable(app.file)])
        let lines = [style.bold(TerminalText.printable(app.app))] + table.lines(indent: 2)
        return lines.joined(separator: "\n") + "\n"
    }

    static func text(of apps: [AppMessage], style: TextStyle) -> String {
        guard !apps.isEmpty else {
            return "no apps; add one with 'ringwake app add ID --exec PATH'\n"
        }
        var table = TextTable([.left, .left, .left])
        for app in apps {
            table.add([TerminalText.printable(app.app), TerminalText.printable(app.state), command(app.exec)])
        }
        return table.lines().joined(separator: "\n") + "\n"
    }

    /// The words of a command, those that a shell would split in quotes.
    private static func command(_ words: [String]) -> String {
        let quoted = words.map { word in
            let isPlain = !word.isEmpty && word.allSatisfy { $0.isLetter || $0.isNumber || "/-_.=:,@%+".contains($0) }
            return isPlain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
        }
        return TerminalText.printable(quoted.joined(separator: " "))
    }
}

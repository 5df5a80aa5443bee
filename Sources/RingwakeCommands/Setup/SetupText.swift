/// The outcome of a setup, for people.
enum SetupText {
    static func text(of message: SetupMessage, style: TextStyle) -> String {
        var lines: [String] = []
        if message.endpoint == nil {
            var table = TextTable([.left, .left, .left])
            for file in message.files {
                table.add([file.state.rawValue, TerminalText.printable(file.path), file.explanation])
            }
            lines += table.lines() + [""]
        }
        lines.append(style.bold("The sender needs:"))
        lines += sender(message.sender).lines(indent: 2) + [""]
        lines += message.notes.map(TerminalText.printable)
        if !message.notes.isEmpty { lines.append("") }
        if let endpoint = message.endpoint {
            var table = TextTable([.left, .left])
            table.add(["daemon", "\(endpoint.pid)"])
            table.add(["socket", TerminalText.printable(endpoint.controlSocket)])
            table.add(["log", TerminalText.printable(endpoint.log)])
            lines += [style.bold("What runs:")] + table.lines(indent: 2) + [""]
        }
        if !message.next.isEmpty { lines += [style.bold("Next:")] + message.next.map { "  \($0)" } + [""] }
        lines += [
            style.bold(
                message.next.isEmpty ? "Try it, here and from the sender:" : "Then try it, here and from the sender:"),
            "  " + TerminalText.printable(message.proof.here), "  " + TerminalText.printable(message.proof.sender),
        ]
        if message.endpoint != nil { lines += ["", "It ends with Ctrl-C, or when its parent ends."] }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func sender(_ sender: SetupMessage.Sender) -> TextTable {
        var table = TextTable([.left, .left])
        func add(_ label: String, _ text: String) { table.add([label, TerminalText.printable(text)]) }
        add("url", sender.url)
        add("topic", sender.topic)
        for (environment, token) in sender.tokens.sorted(by: { $0.key < $1.key }) {
            add("token", "\(token) (\(environment))")
        }
        if sender.tokens.isEmpty { add("token", "made when the daemon starts; the next run prints it") }
        add("CA", sender.ca)
        add("certificate", "\(sender.certificate) (or the same as .p12)")
        add("or key", "\(sender.key), key id \(sender.keyID), team \(sender.teamID)")
        return table
    }
}

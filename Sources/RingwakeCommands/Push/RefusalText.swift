import ControlProtocol
import RingwakeCore

/// What the daemon refused, as its owner may ask.
struct Refusals {
    private let client: ControlClient

    init(_ client: ControlClient) {
        self.client = client
    }

    /// The newest refusal of a push whose id begins with `id`; nil if there is none.
    func newest(of id: String) throws(RingwakeError) -> RefusalMessage? {
        guard id.count >= ShortID<RefusalMessage>.minimumCharacters else { return nil }
        let list: RefusalListMessage = try client.get(RequestTarget("refusals", query: [("id", id), ("limit", "1")]))
        return list.refusals.first
    }
}

/// Refusals for people.
enum RefusalText {
    static func text(of list: RefusalListMessage, style: TextStyle) -> String {
        guard !list.refusals.isEmpty else { return "nothing was refused since the daemon started\n" }
        var table = TextTable([.left, .left, .left, .left, .left])
        table.add([style.times.heading, "push", "sender", "reason", "cause"])
        for refusal in list.refusals {
            table.add([
                style.times.short(refusal.at), refusal.pushId ?? "none", refusal.peer, refusal.reason, refusal.cause,
            ])
        }
        return table.list(style: style)
    }

    static func text(of refusal: RefusalMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        table.add(["state", "refused: \(refusal.reason)"])
        table.add(["cause", refusal.cause])
        table.add(["sender", refusal.peer + (refusal.team.map { ", team \($0)" } ?? "") + ", \(refusal.environment)"])
        table.add(["received", style.times.full(refusal.at)])
        let lines = table.lines(indent: 2).map(TerminalText.printable)
        let head = style.bold("push " + TerminalText.printable(refusal.pushId ?? ""))
        return ([head] + lines).joined(separator: "\n") + "\n"
    }
}

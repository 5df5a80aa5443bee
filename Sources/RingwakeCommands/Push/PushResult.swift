import ControlProtocol
import ProviderAPI
import PushClient
import RingwakeCore

/// One push and its answer, as `ringwake push --json` prints it.
struct PushResult: Encodable, Equatable {
    var schema = ControlAPI.schema
    /// `host:port` of the push service, as given.
    var server: String
    /// The value of `--connect-to`: the push may then not have reached the named host.
    var connectTo: String?
    var accepted: Bool
    var status: Int
    var apnsId: String?
    var apnsUniqueId: String?
    /// What became of an accepted push; nil from a push service that doesn't say.
    var outcome: String?
    var reason: String?
    var hint: String?
    /// With `--app`: the exact cause, which only the daemon's owner is told.
    var cause: String?
    /// With 410: when the token became invalid, in milliseconds since 1970.
    var timestamp: Int64?
    var httpVersion: String
    var timings: PushTimings
    /// With `--trace`: the call's last known state.
    var call: CallMessage?

    init(_ answer: PushAnswer, from server: PushServer) {
        self.server = server.authority
        connectTo = server.connectTo?.text
        accepted = answer.isAccepted
        status = answer.status
        apnsId = answer.apnsID
        apnsUniqueId = answer.uniqueID
        outcome = answer.outcome
        reason = answer.reason
        hint = PushResult.hint(for: answer)
        timestamp = answer.timestamp
        httpVersion = answer.httpVersion
        timings = answer.timings
    }

    private static func hint(for answer: PushAnswer) -> String? {
        if answer.isAccepted { return nil }
        if let reason = answer.knownReason { return reason.hint }
        return answer.reason == nil
            ? "the answer gives no reason; is it a push service?"
            : "APNs does not document this reason; ask the operator of the push service"
    }
}

/// A push and its answer for people.
enum PushText {
    static func text(of result: PushResult, style: TextStyle) -> String {
        let place = result.server + (result.connectTo.map { " (connecting by \($0))" } ?? "")
        let verdict =
            result.accepted
            ? style.good("\(result.status) accepted") + " by"
            : style.bad("\(result.status) \(TerminalText.printable(result.reason ?? "refused"))") + " from"
        var table = TextTable([.left, .left])
        if let id = result.apnsId { table.add(["apns-id", id]) }
        if let id = result.apnsUniqueId { table.add(["apns-unique-id", id]) }
        if let outcome = result.outcome, outcome != PushOutcome.started.rawValue { table.add(["outcome", outcome]) }
        if let timestamp = result.timestamp { table.add(["gone since", UTCTime(milliseconds: timestamp).description]) }
        if let cause = result.cause { table.add(["cause", cause]) }
        if let hint = result.hint { table.add(["hint", hint]) }
        let head = "\(verdict) \(place) in \(DurationText.short(microseconds: result.timings.totalUs))"
        let lines = [head] + table.lines(indent: 2).map(TerminalText.printable)
        return lines.joined(separator: "\n") + "\n"
    }

    /// The sender's stages, in the form of a call's timeline.
    static func stages(of timings: PushTimings, style: TextStyle) -> String {
        var table = TextTable([.left, .right, .right])
        table.add(["sender", "since start", "step"])
        let connection = [
            ("name resolved", timings.dnsUs), ("connected", timings.connectUs), ("TLS agreed", timings.tlsUs),
        ]
        let stages =
            (timings.reusedConnection ? [] : connection) + [
                ("request sent", timings.sentUs), ("answer began", timings.answerUs), ("answered", timings.totalUs),
            ]
        var previous: Int64 = 0
        for (name, at) in stages {
            let step = at.subtractingReportingOverflow(previous).partialValue
            table.add([
                name, DurationText.short(microseconds: at), "+" + DurationText.short(microseconds: step),
            ])
            previous = at
        }
        var lines = table.lines(indent: 2)
        lines[0] = style.dim(lines[0])
        return lines.joined(separator: "\n") + "\n"
    }
}

import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake push list`
struct PushListCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "list", "List the pushes that the daemon accepted, or refused, the newest first.",
        examples: """
            ringwake push list
            ringwake push list --app com.example.phone --limit 10
            ringwake push list --refused
            ringwake push list --json | jq '.pushes[] | select(.state=="missed").pushId'
            """,
        details: """
            The daemon's journal keeps accepted pushes over restarts. Refused pushes and
            connections are kept until the daemon stops, the last 1,000 of them, with the
            exact cause. Senders do not see that cause.
            """)

    @Flag(help: "List what was refused, and why.")
    var refused = false

    @Option(help: .of("id", "Only pushes for this app (default: $RINGWAKE_APP)."), completion: .apps)
    var app: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(!refused || (app == nil && list.before == nil), "--refused takes no --app and no --before.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        if refused {
            let target = RequestTarget("refusals", query: list.query)
            return try show(RefusalListMessage.self, at: target, RefusalText.text, in: context)
        }
        let target = RequestTarget(
            "pushes", query: [("app", app ?? context.environment("RINGWAKE_APP"))] + list.query)
        return try show(PushListMessage.self, at: target, PushStateText.text, in: context)
    }
}

/// `ringwake push show`
struct PushShowCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "show", "Show the state of one push.",
        examples: """
            ringwake push show 7b0e
            ringwake push show 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 --json | jq .state
            """,
        details: """
            The state is accepted (but not durable), journaled, woken, reported, ringing,
            answered, ended, expired, missed, cancelled, restricted (blocked by do not
            disturb, a block list or a limit) or withheld (the app's handler has too many
            strikes). For each stage the timeline shows the time since the push arrived,
            the time since the previous stage, and the time of day: local time on a
            terminal, UTC in a pipe. For the last 1,000 refused pushes since the daemon's
            start it shows the exact cause of the refusal.
            """)

    @Argument(
        help: .of("push-id", "The push's id, or its first 4 or more characters, in either case."),
        completion: .pushes)
    var pushID: String

    @Option(
        help: .of("id", "The push's app, if two apps have a push with this id (default: $RINGWAKE_APP)."),
        completion: .apps)
    var app: String?

    @OptionGroup var control: ControlOptions

    private var ids: ShortID<PushMessage> {
        ShortID(plural: "pushes", heading: "The newest pushes", id: \.pushId, details: { "\($0.app), \($0.state)" })
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let app = app ?? context.environment("RINGWAKE_APP")
        let get = { (id: String, app: String?) throws(RingwakeError) -> PushMessage in
            try client.get(RequestTarget("pushes", id, query: [("app", app)]))
        }
        let push: PushMessage
        do throws(RingwakeError) {
            push = try find(client, app, get)
        } catch {
            guard error.code == .notFound else { throw error }
            if let receipt = try linked(client) {
                return try show(receipt, PushStateText.text(of: receipt, style: context.style), in: context)
            }
            guard let refusal = try Refusals(client).newest(of: pushID) else { throw error }
            return try show(refusal, RefusalText.text(of: refusal, style: context.style), in: context)
        }
        return try show(push, PushStateText.text(of: push, style: context.style), in: context)
    }

    /// What became of a push for a linked device; nil if this daemon is no gateway, or doesn't know the push.
    private func linked(_ client: ControlClient) throws(RingwakeError) -> PushReceiptMessage? {
        do throws(RingwakeError) {
            return try client.get(RequestTarget("gateway", "pushes", pushID))
        } catch {
            if error.code == .notFound || error.code == .notPermitted { return nil }
            // A daemon that is no gateway, or several pushes.
            let gateway: GatewayMessage? = error.code == .conflict ? try? client.get(RequestTarget("gateway")) : nil
            guard error.code == .conflict, gateway == nil else { throw error }
            return nil
        }
    }

    private func find(
        _ client: ControlClient, _ app: String?, _ get: (String, String?) throws(RingwakeError) -> PushMessage
    ) throws(RingwakeError) -> PushMessage {
        try ids.use(
            pushID,
            { () throws(RingwakeError) in try get(pushID, app) },
            list: { () throws(RingwakeError) in
                let limit = "\(ControlAPI.maximumListLimit)"
                let list: PushListMessage = try client.get(
                    RequestTarget("pushes", query: [("app", app), ("limit", limit)]))
                return list.pushes
            },
            found: { (push) throws(RingwakeError) in try get(push.pushId, push.app) })
    }
}

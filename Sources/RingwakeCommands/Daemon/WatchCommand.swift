import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake watch`
struct WatchCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "watch", "Show events as they happen.",
        examples: """
            ringwake watch
            ringwake watch --app com.example.phone
            ringwake watch --json --count 1 --timeout 30s
            ringwake watch --json | jq 'select(.state == "ringing")'
            ringwake watch --pushes --json
            """,
        details: """
            Begins with the current state of each matching call. With --json, prints one
            JSON object per line. If the daemon stops, waits until it is back, and begins
            again with the current state and the ends of calls that it has missed; in a
            call's handler it then claims the call.

            Exits after --count events, after --timeout, or with Ctrl-C. With --call and
            without --count it also exits when the call has ended. If fewer than --count
            events arrive before --timeout, the exit status is 6.

            With --pushes, shows the requests of senders instead, accepted and refused, each
            with its headers, its payload and its answer. For the owner only.
            """)

    @Option(help: .of("id", "Only events of this app (default: $RINGWAKE_APP)."), completion: .apps)
    var app: String?

    @Option(
        help: .of("id", "Only events of this call; the first 4 characters of its id are enough."),
        completion: .calls(nil))
    var call: String?

    @Flag(help: "Show the requests of senders, with their headers and payloads.")
    var pushes = false

    @OptionGroup var stream: StreamOptions
    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(!pushes || call == nil, "Give one of --pushes and --call.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let app = app ?? context.environment("RINGWAKE_APP")
        var printer = stream.printer(wantsJSON: wantsJSON, in: context)
        let deadline = printer.deadline
        let call = try call.map { (call) throws(RingwakeError) in
            try CallChoice.watched(
                call, of: app, "ringwake watch --call", by: client.ending(at: deadline), in: context
            ).id
        }
        let target = { (since: Int64?) in
            RequestTarget(
                "events",
                query: [
                    ("app", app), ("call", call), ("pushes", pushes ? "true" : nil), ("since", since.map { "\($0)" }),
                ])
        }
        printer.call = call
        var events = try client.ending(at: deadline).events(target(nil))
        while case .streamClosed = try printer.print(events) {
            if !wantsJSON { context.errors.write("ringwake: the daemon closed the stream; waiting until it is back\n") }
            // A stream of one call has its end anyway.
            let since = call == nil ? printer.calls.since : nil
            let reopening = StreamReopening(client: client, target: target(since), context: context)
            guard let again = try reopening.reopen(call: call, until: deadline) else {
                if deadline?.hasPassed == true { try printer.timeOut() }
                return .success
            }
            events = again
        }
        return .success
    }
}

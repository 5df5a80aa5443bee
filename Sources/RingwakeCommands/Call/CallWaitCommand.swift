import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake call wait`
struct CallWaitCommand: DaemonCommand {
    typealias State = CallStateMachine.State.Name

    static let configuration = CommandConfiguration(
        "wait", "Wait until a call is in a state, such as ringing.",
        examples: """
            ringwake call wait
            ringwake call wait --app com.example.phone --timeout 30s
            ringwake call wait --state connected --state held
            ringwake call wait --state ended 7b0e
            id=$(ringwake call wait --json | jq -r .call)
            """,
        details: """
            Without an id, waits for the first call that is in the state, now or later, and
            shows it. With an id, the command fails if the call ends without that. If the
            daemon stops, the command waits until it is back. The exit status is 6 after
            --timeout.

            A call may be in a state so shortly that it is not seen there: give each state
            that will do.
            """)

    @Argument(
        help: .of(
            "id", "The call's id, or its first \(ShortID<CallMessage>.minimumCharacters) or more characters."),
        completion: .calls(nil))
    var id: String?

    @Option(
        name: .customLong("state"), parsing: .singleValue,
        help: .of("state", "One of: \(State.allCases.map(\.rawValue).joined(separator: ", ")) (default: ringing)."),
        completion: .list(State.allCases.map(\.rawValue)))
    var states: [String] = []

    @Option(help: .of("id", "Only calls of this app (default: $RINGWAKE_APP)."), completion: .apps)
    var app: String?

    @Option(
        help: .of("duration", "Give up after this time: 30s, 5m."), transform: DurationArgument.init(parsing:))
    var timeout: DurationArgument?

    @OptionGroup var control: ControlOptions

    func validate() throws {
        for state in states {
            try require(
                State(rawValue: state) != nil,
                "'\(state)' is no state of a call; the states are: "
                    + State.allCases.map(\.rawValue).joined(separator: ", "))
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let filter = app ?? context.environment("RINGWAKE_APP")
        let wanted = states.isEmpty ? [State.ringing.rawValue] : states
        let deadline = timeout.map { Deadline(after: $0.duration) }
        let watched = try id.map { (id) throws(RingwakeError) in
            try CallChoice.watched(
                id, of: filter, "ringwake call wait", by: client.ending(at: deadline), in: context)
        }
        let (call, app) = (watched?.id, watched.map(\.app) ?? filter)
        let target = RequestTarget("events", query: [("app", app), ("call", call)])
        var events = try client.ending(at: deadline).events(target)
        while true {
            do throws(RingwakeError) {
                // Looked at after the stream was opened, so that no change is missed in between.
                if let call, let known = try look(call, app, client.ending(at: deadline)) {
                    if wanted.contains(known.state) { return try show(known, in: context) }
                    if known.state == State.ended.rawValue { throw ended(call, wanted) }
                }
                if let change = try next(&events, call, wanted, until: deadline, in: context) {
                    let found: CallMessage = try client.ending(at: deadline).get(
                        RequestTarget("calls", change.call, query: [("app", change.app)]))
                    return try show(found, in: context)
                }
            } catch {
                // The daemon may have stopped in between.
                guard [.daemonNotRunning, .unreachable].contains(error.code) else { throw error }
            }
            let reopening = StreamReopening(client: client, target: target, context: context)
            guard let again = try reopening.reopen(call: nil, until: deadline) else {
                // The reader of the output has left, and needs nothing any more.
                if deadline?.hasPassed == true { throw timedOut(wanted) }
                return .success
            }
            events = again
        }
    }

    /// The next change of a call that is waited for; nil: the stream has ended.
    private func next(
        _ events: inout EventStream, _ call: String?, _ wanted: [String], until deadline: Deadline?,
        in context: CommandContext
    ) throws(RingwakeError) -> EventMessage.CallChange? {
        while true {
            switch try events.next(until: deadline, output: context.output.descriptor) {
            case .line(let line):
                guard case .call(let change) = try EventStream.message(line, "an event") as EventMessage else {
                    continue
                }
                if wanted.contains(change.state) { return change }
                if change.state == State.ended.rawValue, change.call == call { throw ended(change.call, wanted) }
            case .ended, .outputClosed: return nil
            case .timedOut: throw timedOut(wanted)
            }
        }
    }

    /// The call as it is; nil: there is none yet.
    private func look(_ call: String, _ app: String?, _ client: ControlClient) throws(RingwakeError) -> CallMessage? {
        do throws(RingwakeError) {
            return try client.get(RequestTarget("calls", call, query: [("app", app)]))
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    private func ended(_ call: String, _ wanted: [String]) -> RingwakeError {
        RingwakeError(.conflict, "the call '\(call)' has ended, and was not seen \(wanted.joined(separator: " or "))")
    }

    private func timedOut(_ wanted: [String]) -> RingwakeError {
        RingwakeError(.timedOut, "no call was \(wanted.joined(separator: " or ")) in time; give a longer --timeout")
    }

    private func show(_ call: CallMessage, in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try show(call, TerminalText.printable(CallText.summary(of: call)) + "\n", in: context)
    }
}

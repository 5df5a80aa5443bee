import ArgumentParser
import ControlProtocol
import PushClient
import RingwakeCore

/// `ringwake push send`, the default of `ringwake push`
struct PushSendCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "send", "Send a push by the APNs provider API, over TLS and HTTP/2.",
        examples: """
            An app of the local daemon, with the stages of the call:
              ringwake push --app com.example.phone --trace
            """,
        details: """
              Another ringwaked, with a certificate:
                ringwake push --host push.example.net --port 8443 --ca ca.pem \\
                  --cert voip-services.p12 --password-file p12-password \\
                  --token TOKEN --data '{"from":"alice"}' --expires 30s

              Apple's push service, with a key:
                ringwake push --token TOKEN --topic com.example.phone.voip \\
                  --key AuthKey_ABC123DEFG.p8 --team TEAM123456

              A push service on this machine under Apple's name:
                ringwake push --token TOKEN --cert voip.pem --ca ca.pem \\
                  --connect-to api.sandbox.push.apple.com:443:127.0.0.1:8443

            Prints the status, the apns-id, the reason of a refusal with a hint, and the
            outcome of an accepted push that started no call, such as 'restricted';
            Apple reports none. The exit status is 0 if the push service accepted the
            push, 7 if it refused the push, 8 if it could not be reached. With --json,
            prints one line with an object for each push. Pushes to another machine use
            https_proxy.
            """)

    /// Maximum pushes of one run.
    static let maximumCount = 1_000_000

    @OptionGroup(title: "Target") var target: PushTargetOptions
    @OptionGroup(title: "Credentials") var credentials: PushCredentialOptions
    @OptionGroup(title: "Push") var message: PushMessageOptions

    @Flag(help: "Show how long each stage took; with --app also follow the call until it ends.")
    var trace = false

    @Option(
        help: .of("duration", "How long --trace follows the call (default: 10s)."),
        transform: DurationArgument.init(parsing:))
    var traceTimeout = DurationArgument(.seconds(10))

    @Option(help: .of("n", "Send the push this many times over one connection."))
    var count = 1

    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(
            (1...PushSendCommand.maximumCount).contains(count),
            "--count is between 1 and \(PushSendCommand.maximumCount).")
        try require(count == 1 || !trace, "--trace follows one push; leave out --count.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let plan = try plan(in: context)
        let client = try PushClient(
            server: plan.server, credential: plan.credential, userAgent: "ringwake/\(ProductVersion.current)",
            wallClock: WallClock.seconds)
        let request = try message.request(token: plan.token, topic: plan.topic, at: WallClock.seconds())
        if count > 1 {
            return try sendSeries(request, by: client, to: plan.server, in: context)
        }
        var result = PushResult(try client.send(request), from: plan.server)
        if !result.accepted, target.app != nil, let pushID = result.apnsId {
            // Without it the answer still stands: the push may have gone to another service.
            result.cause = try? Refusals(control.client(in: context)).newest(of: pushID)?.cause
        }
        if !wantsJSON {
            context.output.write(PushText.text(of: result, style: context.style))
            if trace {
                context.output.write("\n" + PushText.stages(of: result.timings, style: context.style))
            }
        }
        if trace, result.accepted, let app = target.app, let pushID = result.apnsId {
            result.call = try follow(pushID, of: app, in: context)
        }
        if wantsJSON {
            context.output.write(bytes: controlLine(result))
        }
        return result.accepted ? .success : .rejected
    }

    private func plan(in context: CommandContext) throws(RingwakeError) -> PushPlan {
        if let token = target.token {
            return try PushPlan(target, credentials, token: token, in: context)
        }
        guard let app = target.app?.rawValue else {
            throw RingwakeError(.invalidRequest, "give one of --app and --token")
        }
        let client = control.client(in: context)
        return try PushPlan(
            target, credentials, app: client.get(RequestTarget("apps", app)),
            status: client.get(RequestTarget("status")), in: context)
    }

    private func sendSeries(
        _ request: PushRequest, by client: PushClient, to server: PushServer, in context: CommandContext
    ) throws(RingwakeError) -> ExitStatus {
        var series = PushSeries()
        for _ in 0..<count {
            let result = PushResult(try client.send(request), from: server)
            series.add(result)
            if wantsJSON {
                context.output.write(bytes: controlLine(result))
            }
            guard context.output.isOpen else { break }
        }
        if !wantsJSON {
            context.output.write(series.text(style: context.style))
        }
        return series.isAllAccepted ? .success : .rejected
    }

    private func follow(
        _ pushID: String, of app: AppID, in context: CommandContext
    ) throws(RingwakeError) -> CallMessage? {
        let trace = CallTrace(client: control.client(in: context), app: app.rawValue)
        let call = try trace.follow(pushID, timeout: traceTimeout.duration)
        guard !wantsJSON else { return call }
        guard let call else {
            context.output.write(
                "\nthis push started no call; see 'ringwake push show \(TerminalText.printable(pushID))'\n")
            return nil
        }
        context.output.write("\n" + CallText.text(of: call, style: context.style))
        if call.state != "ended" {
            context.output.write(
                "\nthe call is still in progress; see 'ringwake call show \(TerminalText.printable(call.call))'\n")
        }
        return call
    }
}

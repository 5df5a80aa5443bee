import ControlProtocol
@testable import RingwakeKit

/// What a session wants done, as text: the effects hold streams' payloads and errors, and tests look at what they mean.
func said(_ effects: [SessionStateMachine.Effect]) -> [String] {
    effects.map { effect in
        switch effect {
        case .openStream(let since, let secret): "open since=\(since.map(String.init) ?? "-") secret=\(secret ?? "-")"
        case .closeStream: "close"
        case .retry(let delay): "retry \(Int(delay / .milliseconds(1)))"
        case .connection(let state): said(state)
        case .resumeRequests: "resume"
        case .push(let push): "push \(push.kind) \(push.call) \(push.attempt)"
        case .action(let call, let kind, let digits, let other, let number, _):
            "action \(call) \(kind)\(digits.isEmpty ? "" : " \(digits)")\(other.map { " with \($0)" } ?? "") #\(number)"
        case .event(let event): said(event)
        case .fetchPushes: "fetch"
        case .fetchCredentials: "credentials?"
        case .credentials([]): "credentials gone"
        case .credentials(let credentials): "credentials \(credentials.map(\.token))"
        case .linkReset(let reset):
            "reset \(reset.code) \(reset.action) \(reset.stage) \(reset.session.gateway ?? "nil") "
                + "\(reset.session.device ?? "nil") \(reset.message) \(reset.copies ?? "nil")"
        case .protectedData(let event): "protected \(event.state)"
        case .restrictions(let message):
            "restrictions \(message.doNotDisturb.active) \(message.rating?.name ?? "any")"
        case .telephony(let modems): "telephony \(modems.map(\.id))"
        case .claim(let call): "claim \(call)"
        case .fulfillAgain(let call, let kind): "again \(call) \(kind)"
        case .lookUp(let call): "look up \(call)"
        }
    }
}

private func said(_ state: ConnectionState) -> String {
    switch state {
    case .connecting: "connecting"
    case .connected: "connected"
    case .waiting(let why, _): "waiting \(why.code)"
    case .closed: "closed"
    }
}

private func said(_ event: CallEvent) -> String {
    switch event {
    case .changed(let info): "\(info.id) \(info.state)\(info.isOwn ? " own" : "")"
    case .ended(let info, let reason): "\(info.id) ended \(reason.rawValue)"
    case .lost(let info, let within): "\(info.id) lost \(within.components.seconds)"
    case .claimed(let info): "\(info.id) claimed"
    case .filtered(let call, let filter, _): "\(call) filtered \(filter.rawValue)"
    case .networkChanged(let call, let path): "\(call) path \(path.sources)"
    case .audioActivated(let call, let route): "\(call) audio on \(said(route))"
    case .audioDeactivated(let call): "\(call) audio off"
    case .audioFailed(let call, let error): "\(call) audio failed \(error.code.rawValue)"
    case .audioRouteChanged(let call, let reason, _, let current):
        "\(call) audio route \(reason.rawValue) \(said(current))"
    case .cellular(let isActive): "cellular \(isActive)"
    case .reachability(let reachability): "reachability \(reachability.status.rawValue)"
    }
}

private func said(_ route: AudioRoute) -> String {
    route.outputs.map(\.device).joined() + (route.isInputAvailable ? "" : " without microphone")
}

/// A session, and lines for it as a daemon writes them.
struct SessionBench {
    var session: SessionStateMachine

    init(secret: String? = nil) {
        var configuration = RingwakeClient.Configuration(app: "com.example.phone", socketPath: "/nowhere")
        configuration.secret = secret
        session = SessionStateMachine(configuration)
    }

    /// A session whose stream is open, with these lines heard.
    static func open(secret: String? = nil, _ lines: String...) throws -> SessionBench {
        var bench = SessionBench(secret: secret)
        _ = bench.session.start()
        _ = try bench.hear(hello())
        for line in lines { _ = try bench.hear(line) }
        return bench
    }

    mutating func hear(_ line: String) throws -> [String] {
        said(session.take(try StreamLine(Array(line.utf8))))
    }

    mutating func lose(after lasted: Duration = .zero) -> [String] {
        said(session.streamEnded(RingwakeKitError(.unreachable, "gone"), lasted: lasted))
    }

    /// The stream breaks, and another one begins.
    mutating func restart() throws -> [String] {
        _ = lose()
        let opened = said(session.retryDue())
        return opened + (try hear(hello()))
    }
}

func hello(secret: String? = "given") -> String {
    let member = secret.map { #","secret":"\#($0)""# } ?? ""
    return #"{"app":"com.example.phone","event":"handler"\#(member),"schema":1,"socket":"/run/control.sock"}"#
}

func call(_ id: String, _ number: Int64, _ state: String, _ more: String = "") -> String {
    let muted = more.contains(#""muted""#) ? "" : #","muted":false"#
    return #"{"app":"com.example.phone","atUs":7,"call":"\#(id)","event":"call","number":\#(number),"schema":1,"#
        + #""state":"\#(state)"\#(muted)\#(more)}"#
}

func action(_ id: String, _ name: String, digits: String? = nil, with other: String? = nil) -> String {
    let member = digits.map { #","digits":"\#($0)""# } ?? other.map { #","with":"\#($0)""# } ?? ""
    return #"{"action":"\#(name)","app":"com.example.phone","call":"\#(id)","deadlineMs":10000\#(member),"#
        + #""event":"action","schema":1}"#
}

func push(_ id: String, kind: String = "call", attempt: Int = 1, payload: String = #"{"a":1}"#) -> String {
    #"{"schema":1,"kind":"\#(kind)","app":"com.example.phone","topic":"com.example.phone.voip","call":"\#(id)","#
        + #""attempt":\#(attempt),"age_ms":12,"deadline_ms":5000,"payload":\#(payload)}"#
}

func wake(_ id: String, kind: String = "call", attempt: Int = 1, payload: String = #"{"a":1}"#) -> String {
    let push = push(id, kind: kind, attempt: attempt, payload: payload)
    return #"{"app":"com.example.phone","event":"wake","push":\#(push),"schema":1}"#
}

/// - Parameter what: `Activated`, `Deactivated`, `Failed` or `RouteChanged`.
func audio(_ id: String, _ what: String, _ activation: Int, _ more: String = "") -> String {
    #"{"activation":\#(activation),"app":"com.example.phone","call":"\#(id)","event":"audio\#(what)","#
        + #""schema":1\#(more)}"#
}

/// A member `name` with a route to one output.
func route(_ device: String, as name: String = "route") -> String {
    #","\#(name)":{"inputs":[],"outputs":[{"device":"\#(device)","kind":"builtInSpeaker","name":"A speaker"}]}"#
}

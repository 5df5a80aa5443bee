@testable import RingwakeCommands

/// What a command line printed and exited with.
struct Ran {
    let status: Int32
    let output: String
    let errors: String
}

/// Runs `ringwake` with `arguments` in this process, at the socket of `daemon` if there is one.
func ringwake(_ arguments: [String], at daemon: FakeDaemon? = nil, environment: [String: String] = [:]) -> Ran {
    let output = Output()
    let errors = Output()
    var environment = environment
    if let daemon { environment["RINGWAKE_SOCKET"] = daemon.socket }
    let variables = environment
    let context = CommandContext(output: output, errors: errors, environment: { variables[$0] }, userID: 1000)
    let status = CommandLineTool.run(arguments, in: context)
    return Ran(status: status, output: output.text, errors: errors.text)
}

/// Answers of a daemon, as JSON.
enum Sample {
    static func status(
        appsDirectory: String = "/nowhere", port: Int = 8443, certificate: String = "/certs/server.pem",
        journal: String = Sample.workingJournal
    ) -> String {
        #"{"schema":1,"version":"0.1.0","pid":42,"uptimeMs":90061000,"configuration":"/c.toml","appsDirectory":""#
            + appsDirectory + #"","stateDirectory":"/s","controlSocket":"/x.sock","listeners":[{"address":"0.0.0.0:"#
            + "\(port)"
            + #"","environment":"development","connections":1}],"serverCertificate":{"file":""# + certificate
            + #"","subject":"localhost","notAfter":2000000000,"daysLeft":12},"apps":1,"activeCalls":0,"#
            + #""pushes":{"accepted":3,"refused":{"BadDeviceToken":1,"BadTopic":2}},"#
            + #""journal":"# + journal + #","strikes":{"com.example.phone":2},"#
            + #""wakeups":{"total":7,"byCause":{"provider":5,"control":2}}}"#
    }

    static let workingJournal = #"{"file":"/s/store.db","state":"working","pushes":3,"calls":2,"bytes":40960}"#
    static let failingJournal =
        #"{"file":"/s/store.db","state":"failing","why":"the disk is full; free some space","sinceMs":61000,"#
        + #""pushes":3,"calls":2,"bytes":4194304}"#

    static let app =
        #"{"schema":1,"app":"com.example.phone","topic":"com.example.phone.voip","exec":["/bin/true","a b"],"#
        + #""state":"registered","tokens":{"development":"00ff","production":"11ee"},"#
        + #""file":"/a/com.example.phone.toml"}"#

    static func call(
        _ state: String, reason: String? = nil, callerName: String = "Alice", missed: Bool = false
    ) -> String {
        #"{"schema":1,"call":"C1","app":"com.example.phone","topic":"com.example.phone.voip","team":"TEAM123456","#
            + #""environment":"production","receivedAt":"2026-11-21T23:59:58.900Z","missed":\#(missed),"state":""#
            + state + #"","reason":"# + (reason.map { "\"\($0)\"" } ?? "null")
            + #","apnsId":"C1","caller":"sip:alice@example.com","callerName":""#
            + callerName + #"","video":false,"attempt":1,"timeline":[{"stage":"received","atUs":0},"#
            + #"{"stage":"verified","atUs":210},{"stage":"woke","atUs":1310},{"stage":"connected","atUs":2104000}]}"#
    }

    static func push(_ state: String, reason: String? = nil, outcome: String = "started", call: String = "C1") -> String
    {
        #"{"schema":1,"apnsId":"A-1","app":"com.example.phone","topic":"com.example.phone.voip","team":"TEAM123456","#
            + #""environment":"production","receivedAt":"2026-11-21T23:59:58.900Z","priority":10,"call":""# + call
            + #"","outcome":""# + outcome + #"","state":""# + state + #"","reason":"#
            + (reason.map { "\"\($0)\"" } ?? "null")
            + #","attempt":1,"timeline":[{"stage":"received","atUs":0},{"stage":"journaled","atUs":2100}]}"#
    }

    static let reload = #"{"schema":1,"apps":["com.example.phone"],"needsRestart":[]}"#
}

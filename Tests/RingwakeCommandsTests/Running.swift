@testable import RingwakeCommands

/// What a command line printed and exited with.
struct Ran {
    let status: Int32
    let output: String
    let errors: String
}

/// Runs `ringwake` with `arguments` in this process, at the socket of `daemon` if there is one.
///
/// - Parameter errors: where errors go, if not to the result.
func ringwake(
    _ arguments: [String], at daemon: FakeDaemon? = nil, environment: [String: String] = [:], errors: Output = Output()
) -> Ran {
    let output = Output()
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
        journal: String = Sample.workingJournal, reachability: String = Sample.reachability,
        device: String = Sample.idleDevice, problems: String = "", facilities: String = ""
    ) -> String {
        #"{"schema":1,"version":"0.1.0","pid":42,"uptimeMs":90061000,"configuration":"/c.toml","appsDirectory":""#
            + appsDirectory + #"","stateDirectory":"/s","controlSocket":"/x.sock","listeners":[{"address":"0.0.0.0:"#
            + "\(port)"
            + #"","environment":"development","connections":1}],"serverCertificate":{"file":""# + certificate
            + #"","subject":"localhost","notAfter":2000000000,"daysLeft":12},"problems":["# + problems
            + #"],"facilities":["# + facilities + #"],"apps":1,"activeCalls":0,"#
            + #""pushes":{"accepted":3,"refused":{"BadDeviceToken":1,"BadTopic":2}},"#
            + #""reachability":"# + reachability + #","journal":"# + journal + #","strikes":{"com.example.phone":2},"#
            + device
            + #""wakeups":{"total":7,"byCause":{"provider":5,"control":2}}}"#
    }

    /// The members of a status about what it uses of the device, each with a comma.
    static let idleDevice =
        #""struckOut":[],"doNotDisturb":{"state":"off","active":false},"awake":{"needed":false,"by":"logind"},"#
        + #""cellular":{"state":"off","active":false},"ring":{"ringing":0},"#
        + #""restoration":{"restored":0,"setAside":0},"buses":{},"#
    static let busyDevice =
        #""struckOut":["com.example.phone"],"doNotDisturb":{"state":"scheduled","active":true},"#
        + #""awake":{"needed":true,"by":"kernel","why":"logind is not there"},"#
        + #""cellular":{"state":"unavailable","active":false,"why":"ModemManager is not there"},"#
        + #""ring":{"ringing":1,"why":"exited with status 1"},"restoration":{"restored":3,"setAside":1,"why":"too new"},"#
        + #""buses":{"session":{"state":"unavailable","why":"no address"},"system":{"state":"connected"}},"#

    /// The members `reachability`, `path` and `connection` of a status, from the value of the first on.
    static let reachability =
        #"{"state":"working","filterLevel":3,"wantedFilterLevel":4,"why":"Cannot allocate memory","messages":9,"#
        + #""foreignMessages":1,"overruns":2,"resynchronizations":3,"throttles":4,"evaluations":5,"resumes":6,"#
        + #""lookups":7,"targets":8},"connection":{"status":"limited","why":"noNameServer"},"path":"# + path
    static let failedReachability =
        #"{"state":"failed","why":"it is not watched: socket failed","filterLevel":0,"wantedFilterLevel":4,"#
        + #""messages":0,"foreignMessages":0,"overruns":0,"resynchronizations":0,"throttles":0,"evaluations":0,"#
        + #""resumes":0,"lookups":0,"targets":0}"#

    static let path =
        #"{"schema":1,"status":"satisfied","reason":null,"interface":"wlan0","interfaceType":"wifi","interfaces":["#
        + #"{"name":"wlan0","type":"wifi","index":3},{"name":"wwan0","type":"cellular","index":7}],"#
        + #""gateways":["192.0.2.1"],"sources":["192.0.2.7"],"isExpensive":true,"isConstrained":false,"#
        + #""supportsIPv4":true,"supportsIPv6":false,"supportsDNS":true}"#

    /// A line of reachability; `reason` nil is a target that can be reached.
    static func target(
        _ target: String = "sip.example.org", reason: String? = nil,
        lookedUp: String = #""addresses":[],"resolvedAt":null"#
    ) -> String {
        let facts =
            reason.map {
                #""reachable":false,"flags":[],"status":"unsatisfied","reason":"\#($0)","interface":null,"#
                    + #""interfaceType":null,"source":null,"gateway":null"#
            }
            ?? #""reachable":true,"flags":["reachable","transientConnection"],"status":"satisfied","reason":null,"#
            + #""interface":"wlan0","interfaceType":"wifi","source":"192.0.2.7","gateway":"192.0.2.1""#
        return #"{"schema":1,"target":"\#(target)",\#(facts),\#(lookedUp),"isExpensive":false,"isConstrained":false,"#
            + #""supportsIPv4":true,"supportsIPv6":false,"supportsDNS":true}"#
    }

    static let workingJournal = #"{"file":"/s/store.db","state":"working","pushes":3,"calls":2,"bytes":40960}"#
    static let failingJournal =
        #"{"file":"/s/store.db","state":"failing","why":"the disk is full; free some space","sinceMs":61000,"#
        + #""pushes":3,"calls":2,"bytes":4194304}"#

    static let app = app()

    static func app(
        way: String = #""exec","wake":"/bin/true 'a b'","exec":["/bin/true","a b"]"#,
        strikes: String = #"{"count":1,"limit":5,"windowMs":3600000,"struckOut":false,"recent":[]}"#,
        teams: String = #""TEAM123456""#, tokens: String = #""development":"00ff","production":"11ee""#
    ) -> String {
        #"{"schema":1,"app":"com.example.phone","topic":"com.example.phone.voip","way":\#(way),"#
            + #""instances":"app","connected":0,"strikes":\#(strikes),"teams":[\#(teams)],"state":"registered","#
            + #""tokens":{\#(tokens)},"file":"/a/com.example.phone.toml"}"#
    }

    static func call(
        _ state: String, reason: String? = nil, callerName: String = "Alice", missed: Bool = false,
        more: String = #""muted":false,"ringer":"app","pending":[]"#
    ) -> String {
        #"{"schema":1,\#(more),"call":"C1","app":"com.example.phone","topic":"com.example.phone.voip","team":"TEAM123456","#
            + #""environment":"production","receivedAt":"2026-11-21T23:59:58.900Z","missed":\#(missed),"state":""#
            + state + #"","reason":"# + (reason.map { "\"\($0)\"" } ?? "null")
            + #","pushId":"C1","caller":"sip:alice@example.com","callerName":""#
            + callerName + #"","video":false,"attempt":1,"timeline":[{"stage":"received","atUs":0},"#
            + #"{"stage":"verified","atUs":210},{"stage":"woke","atUs":1310},{"stage":"connected","atUs":2104000}]}"#
    }

    static func push(
        _ state: String, reason: String? = nil, outcome: String = "started", call: String = "C1",
        restriction: String? = nil
    ) -> String {
        #"{"schema":1,"restriction":\#(restriction ?? "null"),"pushId":"A-1","app":"com.example.phone","topic":"com.example.phone.voip","team":"TEAM123456","#
            + #""environment":"production","receivedAt":"2026-11-21T23:59:58.900Z","priority":10,"call":""# + call
            + #"","outcome":""# + outcome + #"","state":""# + state + #"","reason":"#
            + (reason.map { "\"\($0)\"" } ?? "null")
            + #","attempt":1,"timeline":[{"stage":"received","atUs":0},{"stage":"journaled","atUs":2100}]}"#
    }

    static let reload = #"{"schema":1,"apps":["com.example.phone"],"needsRestart":[]}"#
}

/// What the daemon is doing, without callers and payloads: any local user may read it.
package struct StatusMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The version of the daemon.
    package var version: String
    /// Its process id.
    package var pid: Int32
    /// Milliseconds since it started, on the boot clock.
    package var uptimeMs: Int64
    /// The configuration file that it read.
    package var configuration: String
    /// The folder that holds a file for each app.
    package var appsDirectory: String
    /// The folder that holds its state.
    package var stateDirectory: String
    /// The control socket's path.
    package var controlSocket: String
    /// Where it takes pushes.
    package var listeners: [Listener]
    /// The certificate that it shows to senders; nil without a listener.
    package var serverCertificate: ServerCertificate?
    /// How many apps are configured.
    package var apps: Int
    /// Calls that have not ended.
    package var activeCalls: Int
    /// What became of the pushes since the start.
    package var pushes: Pushes
    /// The journal that holds pushes and calls.
    package var journal: Journal
    /// How the look at the network is doing.
    package var reachability: ReachabilityMessage
    /// What the network offers; nil when that is not known.
    package var path: PathMessage?
    /// Whether the daemon is connected; nil when that is not known.
    package var connection: ConnectionMessage?
    /// How often a handler did not do its part since the start, by app; apps without are left out.
    package var strikes: [String: UInt64]
    /// The apps whose handlers are not started any more, until their strikes are cleared.
    package var struckOut: [String]
    /// Whether do not disturb keeps calls out.
    package var doNotDisturb: DoNotDisturb
    /// What keeps the machine awake while a call waits for its answer.
    package var awake: Awake
    /// The calls of the device's modem.
    package var cellular: Cellular
    /// What rings for apps that do not ring themselves.
    package var ring: Ring
    /// The audio sessions; nil of a daemon that knows none.
    package var audio: Audio?
    /// What the last start found of the run before.
    package var restoration: Restoration
    /// The message buses that are used, by `system` and `session`; one that nothing needs is left out.
    package var buses: [String: Bus]
    /// Times that the daemon woke up since its start.
    package var wakeups: Wakeups

    package init(
        version: String, pid: Int32, uptimeMs: Int64, configuration: String, appsDirectory: String,
        stateDirectory: String, controlSocket: String, listeners: [Listener], serverCertificate: ServerCertificate?,
        apps: Int, activeCalls: Int, pushes: Pushes, journal: Journal,
        reachability: ReachabilityMessage, path: PathMessage?, connection: ConnectionMessage?,
        strikes: [String: UInt64], struckOut: [String] = [], doNotDisturb: DoNotDisturb = DoNotDisturb(),
        awake: Awake = Awake(), cellular: Cellular = Cellular(), ring: Ring = Ring(), audio: Audio? = nil,
        restoration: Restoration = Restoration(), buses: [String: Bus] = [:], wakeups: Wakeups
    ) {
        self.version = version
        self.pid = pid
        self.uptimeMs = uptimeMs
        self.configuration = configuration
        self.appsDirectory = appsDirectory
        self.stateDirectory = stateDirectory
        self.controlSocket = controlSocket
        self.listeners = listeners
        self.serverCertificate = serverCertificate
        self.apps = apps
        self.activeCalls = activeCalls
        self.pushes = pushes
        self.journal = journal
        self.reachability = reachability
        self.path = path
        self.connection = connection
        self.strikes = strikes
        self.struckOut = struckOut
        self.doNotDisturb = doNotDisturb
        self.awake = awake
        self.cellular = cellular
        self.ring = ring
        self.audio = audio
        self.restoration = restoration
        self.buses = buses
        self.wakeups = wakeups
    }
}

extension StatusMessage {
    /// One address that takes pushes.
    package struct Listener: Codable, Equatable, Sendable {
        /// `address:port`, the port being the real one where the configuration said 0.
        package var address: String
        /// `development` or `production`.
        package var environment: String
        /// Connections that are open.
        package var connections: Int

        package init(address: String, environment: String, connections: Int) {
            self.address = address
            self.environment = environment
            self.connections = connections
        }
    }

    /// The certificate that senders see.
    package struct ServerCertificate: Codable, Equatable, Sendable {
        /// Its file.
        package var file: String
        /// Its subject's common name.
        package var subject: String
        /// When it ends, in seconds since 1970.
        package var notAfter: Int64
        /// Whole days until then; negative when it has ended.
        package var daysLeft: Int64

        package init(file: String, subject: String, notAfter: Int64, daysLeft: Int64) {
            self.file = file
            self.subject = subject
            self.notAfter = notAfter
            self.daysLeft = daysLeft
        }
    }

    /// Counts of pushes since the start.
    package struct Pushes: Codable, Equatable, Sendable {
        /// Answered 200.
        package var accepted: UInt64
        /// Refused, by reason.
        package var refused: [String: UInt64]

        package init(accepted: UInt64, refused: [String: UInt64]) {
            self.accepted = accepted
            self.refused = refused
        }
    }

    /// How the journal is, and how much it holds.
    package struct Journal: Codable, Equatable, Sendable {
        /// Its file.
        package var file: String
        /// `working`, or `failing`: then pushes are refused with 503, and no call begins to ring.
        package var state: String
        /// While it fails: what is wrong, and what to do.
        package var why: String?
        /// While it fails: since how many milliseconds.
        package var sinceMs: Int64?
        /// Pushes that it holds.
        package var pushes: Int64
        /// Calls that it holds.
        package var calls: Int64
        /// The size of its files, in bytes.
        package var bytes: Int64

        package init(
            file: String, state: String, why: String? = nil, sinceMs: Int64? = nil, pushes: Int64, calls: Int64,
            bytes: Int64
        ) {
            self.file = file
            self.state = state
            self.why = why
            self.sinceMs = sinceMs
            self.pushes = pushes
            self.calls = calls
            self.bytes = bytes
        }
    }

    /// Counts of wakeups since the start.
    package struct Wakeups: Codable, Equatable, Sendable {
        /// All of them.
        package var total: UInt64
        /// By what caused them: `provider`, `control`, `timer`, `signal`, `child`,
        /// `handler-output`, `journal`, `netlink`, `resolver`, `resume`, `name-lookup`, `interruption`, `timeout`,
        /// `handler-socket`, `dbus-system`, `dbus-session`.
        package var byCause: [String: UInt64]

        package init(total: UInt64, byCause: [String: UInt64]) {
            self.total = total
            self.byCause = byCause
        }
    }
}

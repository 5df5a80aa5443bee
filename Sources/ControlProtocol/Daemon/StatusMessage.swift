package import RingwakeCore

/// The daemon's status, without callers and payloads: all local users may read it.
package struct StatusMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The version of the daemon.
    package var version: String
    /// Its PID.
    package var pid: Int32
    /// Milliseconds since it started, on the boot clock.
    package var uptimeMs: Int64
    /// `both`, `device` or `gateway`; nil from a daemon that doesn't say.
    package var role: String?
    /// Path of its configuration file.
    package var configuration: String
    /// Directory of the apps' files.
    package var appsDirectory: String
    /// Directory of its state.
    package var stateDirectory: String
    /// The control socket's path.
    package var controlSocket: String
    /// Addresses on which it accepts pushes.
    package var listeners: [Listener]
    /// Ports that systemd holds and the daemon doesn't accept from, because its role is `device`; nil if none.
    package var unusedPorts: [UnusedPort]?
    /// Its certificate for senders; nil without a listener.
    package var serverCertificate: ServerCertificate?
    /// What is wrong with certificates and keys, or will be soon; errors first.
    package var problems: [CredentialProblem] = []
    /// Number of configured apps.
    package var apps: Int
    /// Number of calls that haven't ended.
    package var activeCalls: Int
    /// Number of pushes since the start, by result.
    package var pushes: Pushes
    /// The journal of pushes and calls.
    package var journal: Journal
    /// Status of the network monitor.
    package var reachability: ReachabilityMessage
    /// Present network path; nil if unknown.
    package var path: PathMessage?
    /// Connection status of the daemon; nil if unknown.
    package var connection: ConnectionMessage?
    /// Strikes since the start, by app; apps without strikes are left out.
    package var strikes: [String: UInt64]
    /// Apps whose handlers are no longer started until their strikes are cleared.
    package var struckOut: [String]
    /// Do not disturb.
    package var doNotDisturb: DoNotDisturb
    /// How the machine is kept awake while a call is unanswered.
    package var awake: Awake
    /// The calls of the device's modem.
    package var cellular: Cellular
    /// How the daemon rings for apps that don't ring themselves.
    package var ring: Ring
    /// The audio sessions; nil from a daemon without them.
    package var audio: Audio?
    /// What the start restored from the last run.
    package var restoration: Restoration
    /// What the kernel offered at its start.
    package var facilities: [FacilityMessage] = []
    /// The daemon's network namespace, as SO_NETNS_COOKIE; nil if unknown.
    package var networkNamespace: UInt64?
    /// The message buses in use, by `system` and `session`.
    package var buses: [String: Bus]
    /// Number of times that the daemon woke up since its start.
    package var wakeups: Wakeups
    /// Files of apps and teams that are wrong; nil from a daemon that doesn't set them aside.
    package var setAside: [SetAsideMessage]?
    /// The last reload; nil if there was none.
    package var reload: Reload?
    /// Whether the machine's clock can be right; nil from a daemon that doesn't say.
    package var clock: Clock?
    /// This device's link; nil if it is not paired with a gateway.
    package var link: LinkMessage?
    /// The devices that are linked to this daemon; nil if it is no gateway.
    package var gateway: GatewayMessage?
    /// The teams' webhooks; nil if no team has one.
    package var webhooks: [WebhookStatusMessage]?
    /// What was found damaged or lost, the oldest first; nil from a daemon that doesn't say.
    package var damage: [Damage]?
    /// What is wrong with the device's identity; nil if nothing is.
    package var identity: Identity?
    /// Whether stored data is encrypted and can be read; nil from a daemon that doesn't say.
    package var protection: Protection?

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

    /// What is out of order, in a word each: what somebody should look at first.
    package var outOfOrder: [String] {
        let isClockRight = clock.map { $0.state == "right" } ?? true
        let files = (setAside ?? []).map { $0.app ?? $0.team ?? $0.file }
        return (isClockRight ? [] : ["clock"]) + (journal.state == "working" ? [] : ["store"])
            + ((damage ?? []).isEmpty ? [] : ["damaged files"]) + (link?.problem == nil ? [] : ["link"])
            + (protection?.unusable == true ? ["protection"] : []) + files
    }
}

extension StatusMessage {
    /// One address on which pushes are accepted.
    package struct Listener: Codable, Equatable, Sendable {
        /// `address:port`, with the real port if the configuration has 0.
        package var address: String
        /// `development` or `production`.
        package var environment: String
        /// Number of open connections.
        package var connections: Int

        package init(address: String, environment: String, connections: Int) {
            self.address = address
            self.environment = environment
            self.connections = connections
        }
    }

    /// A port that systemd holds for pushes and the daemon doesn't accept from.
    package struct UnusedPort: Codable, Equatable, Sendable {
        /// `address:port`.
        package var address: String
        /// `development` or `production`: the `FileDescriptorName=` of its `.socket` unit.
        package var environment: String

        package init(address: String, environment: String) {
            self.address = address
            self.environment = environment
        }

        /// What ends it. The unit may have another name if somebody wrote one.
        package var remedy: String { "run 'systemctl disable --now ringwaked-\(environment).socket'" }
    }

    /// How the last reload of the configuration ended.
    package struct Reload: Codable, Equatable, Sendable {
        /// Milliseconds since then.
        package var agoMs: Int64
        /// What was wrong; nil if the configuration was applied.
        package var why: String?
        /// Settings that changed in the files and need a restart to take effect.
        package var needsRestart: [String]

        package init(agoMs: Int64, why: String?, needsRestart: [String]) {
            self.agoMs = agoMs
            self.why = why
            self.needsRestart = needsRestart
        }
    }

    /// The certificate that senders see.
    package struct ServerCertificate: Codable, Equatable, Sendable {
        /// Path of its file.
        package var file: String
        /// Its subject's common name.
        package var subject: String
        /// End of its validity, in seconds since 1970.
        package var notAfter: Int64
        /// Whole days until then; negative after its end.
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
        /// Answered with 200.
        package var accepted: UInt64
        /// Refused, by reason.
        package var refused: [String: UInt64]
        /// Senders' connections that ended before their first request, by reason; nil from a daemon that doesn't count
        /// them.
        package var failedConnections: [String: UInt64]?
        /// How often senders and strangers met a limit of the ports, by limit; nil from a daemon that doesn't count them.
        package var limitsMet: [String: UInt64]?
        /// The last refused push; nil if there is none.
        package var lastRefused: LastRefused?
        /// Teams whose wall clock is wrong, or this device's is: by how many milliseconds theirs is behind; negative if
        /// it is ahead. Nil if no payload says so.
        package var clocksBehindMs: [String: Int64]?
        /// Apps whose pushes meet a fault that somebody has set to test senders; nil if there is none.
        package var appsWithFaults: [String]?

        package init(
            accepted: UInt64, refused: [String: UInt64], lastRefused: LastRefused? = nil,
            failedConnections: [String: UInt64]? = nil, limitsMet: [String: UInt64]? = nil
        ) {
            self.accepted = accepted
            self.refused = refused
            self.lastRefused = lastRefused
            self.failedConnections = failedConnections
            self.limitsMet = limitsMet
        }
    }

    /// A refused push, without its sender.
    package struct LastRefused: Codable, Equatable, Sendable {
        /// The reason in the answer.
        package var reason: String
        /// Milliseconds since then.
        package var agoMs: Int64
        /// Number of pushes accepted since then.
        package var acceptedSince: UInt64

        package init(reason: String, agoMs: Int64, acceptedSince: UInt64) {
            self.reason = reason
            self.agoMs = agoMs
            self.acceptedSince = acceptedSince
        }
    }

    /// State and size of the journal.
    package struct Journal: Codable, Equatable, Sendable {
        /// Path of its file.
        package var file: String
        /// `working`, or `failing`: then pushes are refused with 503, and calls ring as `calls.unrecorded` says.
        package var state: String
        /// With `failing`: what is wrong, and what to do.
        package var why: String?
        /// With `failing`: for how many milliseconds.
        package var sinceMs: Int64?
        /// Number of stored pushes.
        package var pushes: Int64
        /// Number of stored calls.
        package var calls: Int64
        /// Size of its files, in bytes.
        package var bytes: Int64
        /// Number of pushes and calls removed since the start because the disk was full; nil if none.
        package var gaveWay: Int64?
        /// Number of protected records that were found damaged since the start; nil if none.
        package var damagedRecords: Int64?

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
        /// All wakeups.
        package var total: UInt64
        /// By cause: `provider`, `control`, `timer`, `signal`, `child`, `handler-output`, `journal`, `netlink`,
        /// `resolver`, `resume`, `name-lookup`, `interruption`, `timeout`, `handler-socket`, `audio`, `dbus-system`,
        /// `dbus-session`.
        package var byCause: [String: UInt64]

        package init(total: UInt64, byCause: [String: UInt64]) {
            self.total = total
            self.byCause = byCause
        }
    }

    /// What the daemon thinks of the machine's clock.
    package struct Clock: Codable, Equatable, Sendable {
        /// `right`; `unset`: before this program was made; `behind`: before the newest push in the journal. Unless it
        /// is right, each push is refused with 503.
        package var state: String
        /// Unless it is right: what is wrong, and what to do.
        package var why: String?
        /// With `behind`: when pushes are accepted again if nothing is done, in UTC.
        package var until: String?

        package init(state: String, why: String? = nil, until: String? = nil) {
            self.state = state
            self.why = why
            self.until = until
        }
    }

    /// What is wrong with the device's identity.
    package struct Identity: Codable, Equatable, Sendable {
        /// `copied`: it was made on another machine, so that two may have it; `unknown`: it can't be read or written.
        package var state: String
        /// What is wrong, and what to do.
        package var why: String

        package init(state: String, why: String) {
            self.state = state
            self.why = why
        }
    }

    /// The encryption of stored data, without its keys: ``ProtectionMessage`` has the rest.
    package struct Protection: Codable, Equatable, Sendable {
        /// `off`, `locked` or `unlocked`.
        package var state: String
        /// Why it is off, locked or unusable, and what to do; nil if there is nothing to say.
        package var why: String?
        /// True if something is wrong with the keys or with what opens them; nil if nothing is.
        package var unusable: Bool?
        /// Whether data of the class `complete` can be read.
        package var protectedDataAvailable: Bool

        package init(state: String, why: String? = nil, unusable: Bool? = nil, protectedDataAvailable: Bool) {
            self.state = state
            self.why = why
            self.unusable = unusable
            self.protectedDataAvailable = protectedDataAvailable
        }
    }

    /// Files that were damaged and set aside, or the loss of data. It is listed until its files are removed.
    package struct Damage: Codable, Equatable, Sendable {
        /// What happened, and what it means.
        package var why: String
        /// Paths of its files; one is a note.
        package var files: [String]

        package init(why: String, files: [String]) {
            self.why = why
            self.files = files
        }
    }
}

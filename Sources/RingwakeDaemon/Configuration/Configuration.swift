package import HTTPServer
package import Logging
package import PushJournal
package import Reachability
package import RingwakeCore

/// What `ringwaked.toml` and `apps.d` say, checked, with every path absolute and every default filled in.
package nonisolated struct Configuration: Sendable {
    /// The file that it was read from.
    package var file: String
    /// Where the daemon keeps what must survive it.
    package var stateDirectory: String
    /// Where the control socket is; gone after a restart of the machine.
    package var runtimeDirectory: String
    /// How the daemon shows itself to senders; nil when there is no listener.
    package var server: Server?
    /// Where it takes pushes.
    package var listeners: [Listener]
    /// Who may send them.
    package var teams: [Team]
    /// How long each state of a call may last.
    package var deadlines: CallDeadlines
    /// How much of what is over the journal keeps.
    package var journal: JournalLimits
    /// The least severe level that is logged.
    package var logLevel: Logger.Level
    /// How the network is judged, and what is known of its interfaces.
    package var reachability = ReachabilityConfiguration()
    /// The apps of `apps.d`, by bundle id.
    package var apps: [AppID: AppConfiguration]

    /// The folder with a file for each app.
    package var appsDirectory: String { Configuration.directory(of: file) + "/apps.d" }
    /// The control socket.
    package var controlSocket: String { runtimeDirectory + "/control.sock" }

    /// The section `[server]`.
    package struct Server: Sendable, Equatable {
        /// PEM file with the certificate that senders see, and those that lead to its CA.
        package var certificateFile: String
        /// PEM file with its key.
        package var keyFile: String
        /// PEM files with the CAs that issue provider certificates.
        package var providerCAFiles: [String]
    }

    /// A section `[[listener]]`.
    package struct Listener: Sendable, Equatable {
        /// `address:port` as it stands in the file.
        package var text: String
        package var address: SocketAddress
        package var environment: PushEnvironment
    }

    /// A section `[[team]]`.
    package struct Team: Sendable, Equatable {
        package var id: String
        /// The topics that it may send to; nil for all.
        package var topics: [String]?
        /// Key id and file of each of its provider token keys.
        package var keyFiles: [String: String]
    }

    /// The folder that `path` lies in.
    static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// What `apps.d/<bundle id>.toml` says.
package nonisolated struct AppConfiguration: Sendable, Equatable {
    package var id: AppID
    /// The file that it was read from.
    package var file: String
    /// The handler's absolute path and its arguments.
    package var exec: [String]
    /// How many handlers it has at a time.
    package var instances = HandlerInstances.app
    /// Where its payload says what.
    package var mapping = PayloadMapping()
    /// Its own deadlines; the others are those of `ringwaked.toml`.
    package var deadlines = DeadlineOverrides()
    /// What it has to reach to be online; none: what the daemon has to.
    package var targets: [ReachabilityTarget] = []

    /// What the coordinator has to know of the app, with `defaults` for what its file leaves open.
    package func policy(defaults: CallDeadlines) -> AppPolicy {
        AppPolicy(deadlines: deadlines.merged(into: defaults), instances: instances)
    }
}

/// What a section `[calls]` says; nil is left open.
package nonisolated struct DeadlineOverrides: Sendable, Equatable {
    package var report: Duration?
    package var ring: Duration?
    package var action: Duration?
    package var connected: Duration?

    package init(
        report: Duration? = nil, ring: Duration? = nil, action: Duration? = nil, connected: Duration? = nil
    ) {
        self.report = report
        self.ring = ring
        self.action = action
        self.connected = connected
    }

    /// `defaults` with what is said here.
    package func merged(into defaults: CallDeadlines) -> CallDeadlines {
        CallDeadlines(
            report: report ?? defaults.report, ring: ring ?? defaults.ring, action: action ?? defaults.action,
            connected: connected ?? defaults.connected)
    }
}

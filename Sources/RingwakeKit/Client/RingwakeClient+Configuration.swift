internal import ControlProtocol
internal import Glibc

extension RingwakeClient {
    /// Which app this is, and where its daemon listens.
    public struct Configuration: Sendable {
        /// The app's bundle id, as in its file in `apps.d`: `com.example.phone`.
        public var app: String
        /// The path of the daemon's control socket.
        public var socketPath: String
        /// The secret of the wake that started this process; nil for a handler that was not started by the daemon, and
        /// for one that was started as a unit, which the daemon knows by its control group.
        public var secret: String?
        /// How long a request may take, from the call to its answer, with all that it waits for a daemon that is away.
        public var requestTimeout = Duration.seconds(10)
        /// What the daemon gave to this process when it started it. ``PushRegistry`` tells it as the first push.
        public var initialPush: IncomingPush?

        /// Time from a connection that broke to the first try again. It doubles with each try that fails.
        package var firstRetry = Duration.milliseconds(100)
        /// The longest time from one try to the next.
        package var lastRetry = Duration.seconds(5)

        /// - Parameters:
        ///   - app: the app's bundle id.
        ///   - socketPath: nil: where `ringwake` finds it too. That is `RINGWAKE_SOCKET`, else whichever of the user's
        ///     and the system's socket is there; root looks at the system's first.
        public init(app: String, socketPath: String? = nil) {
            self.app = app
            self.socketPath = socketPath ?? Configuration.findSocket()
        }

        /// What a handler finds that the daemon has started: `RINGWAKE_APP`, `RINGWAKE_SOCKET`, `RINGWAKE_WAKE_SECRET`,
        /// and, where `RINGWAKE_CALL` is set, the push on standard input, which is read to its end.
        ///
        /// - Throws: `invalidRequest`: `RINGWAKE_APP` is not set, or there is something else on standard input.
        public static func fromEnvironment() throws(RingwakeKitError) -> Configuration {
            guard let app = variable("RINGWAKE_APP") else {
                throw RingwakeKitError(
                    .invalidRequest,
                    "RINGWAKE_APP is not set: this process was not started by ringwaked; name the app instead")
            }
            var configuration = Configuration(app: app)
            configuration.secret = variable("RINGWAKE_WAKE_SECRET")
            if variable("RINGWAKE_CALL") != nil {
                let input = try StandardInput.read()
                configuration.initialPush = input.isEmpty ? nil : try IncomingPush(json: input)
            }
            return configuration
        }

        static func variable(_ name: String) -> String? {
            guard let value = getenv(name) else { return nil }
            let text = String(cString: value)
            return text.isEmpty ? nil : text
        }

        private static func findSocket() -> String {
            ControlSocketPath.find(environment: variable, userID: getuid()) { access($0, F_OK) == 0 }
        }
    }
}

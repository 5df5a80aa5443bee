internal import ControlProtocol
internal import Glibc

extension RingwakeClient {
    /// The app, and the daemon's socket.
    public struct Configuration: Sendable {
        /// The app's bundle id, as in its file in `apps.d`: `com.example.phone`.
        public var app: String
        /// The path of the daemon's control socket.
        public var socketPath: String
        /// The secret of the wake that started this process. Nil for a handler that the daemon did not start, and for a
        /// unit, which the daemon knows by its control group.
        public var secret: String?
        /// Timeout of a request, including the time that it waits for a daemon to start.
        public var requestTimeout = Duration.seconds(10)
        /// The push that the daemon started this process for. ``PushRegistry`` delivers it first.
        public var initialPush: IncomingPush?

        /// Time from a broken connection to the first retry. It doubles with each failed retry.
        package var firstRetry = Duration.milliseconds(100)
        /// The longest time between two retries.
        package var lastRetry = Duration.seconds(5)

        /// - Parameters:
        ///   - app: the app's bundle id.
        ///   - socketPath: nil: as `ringwake` finds it. That is `RINGWAKE_SOCKET`, else the user's or the system's socket,
        ///     whichever exists; root looks for the system's first.
        public init(app: String, socketPath: String? = nil) {
            self.app = app
            self.socketPath = socketPath ?? Configuration.findSocket()
        }

        /// The configuration of a handler that the daemon started: `RINGWAKE_APP`, `RINGWAKE_SOCKET`,
        /// `RINGWAKE_WAKE_SECRET`, and, if `RINGWAKE_CALL` is set, the push on standard input, which it reads to the end.
        ///
        /// - Throws: `invalidRequest`: `RINGWAKE_APP` is not set, or standard input is not a push.
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

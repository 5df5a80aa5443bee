import ControlProtocol

/// What `ringwake setup --json` prints.
struct SetupMessage: Encodable {
    var schema = ControlAPI.schema
    /// Path of the configuration file.
    let configuration: String
    let files: [File]
    /// The app's bundle id.
    let app: String
    let sender: Sender
    let daemon: Daemon
    /// What to know about this setup.
    let notes: [String]
    /// The commands to run next.
    let next: [String]
    /// Commands that send a push: on this device, and from the sender's machine.
    let proof: Proof
    /// With `--ephemeral`: what runs.
    var endpoint: Endpoint?

    /// One file.
    struct File: Encodable, Equatable {
        enum State: String, Encodable {
            /// It was written now.
            case made
            /// It existed, and is as it was.
            case kept
            /// It existed, and something was added.
            case changed
        }

        let path: String
        let state: State
        /// What it is.
        let explanation: String
    }

    /// Everything that the sender of pushes needs.
    struct Sender: Encodable {
        let url: String
        let host: String
        let port: Int
        let environment: String
        let topic: String
        /// Device tokens in hex, by environment; empty until the daemon has registered the app.
        var tokens: [String: String]
        /// The CA that the sender trusts the server by.
        let ca: String
        /// A provider certificate with its key, in PEM and as PKCS#12 without a password.
        let certificate: String
        let pkcs12: String
        /// A key that signs provider tokens, instead of the certificate.
        let key: String
        let keyID: String
        let teamID: String
    }

    struct Daemon: Encodable, Equatable {
        enum State: String, Encodable {
            /// It runs with this configuration, and has read it again.
            case running
            /// It doesn't run with this configuration.
            case notRunning
        }

        let state: State
        /// Settings that need a restart to take effect.
        var needsRestart: [String] = []
    }

    struct Proof: Encodable {
        let here: String
        let sender: String
    }

    struct Endpoint: Encodable {
        /// PID of the daemon.
        let pid: Int32
        let controlSocket: String
        /// The folder of everything; removed at the end.
        let directory: String
        /// The daemon's log.
        let log: String
    }
}

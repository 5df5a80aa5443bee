internal import ControlProtocol

/// The version of the daemon that a client is connected to, and how it differs from this library's.
///
/// The daemon and this library tell each other their versions and what they can do, by names such as `claim` or
/// `credentials`. `ringwake app show` and `ringwake doctor` say the same from the daemon's side.
public struct DaemonVersion: Hashable, Sendable {
    /// The daemon's version, as defined by semver.org; nil for a daemon that doesn't say.
    public let version: String?
    /// What this library uses and the daemon lacks. Requests for it fail; upgrade the daemon.
    public let missing: [String]
    /// What the daemon can do and this library doesn't know. Build the app with a newer RingwakeKit to use it.
    public let unused: [String]

    init(_ daemon: PeerVersion?) {
        version = daemon?.version
        let daemon = daemon ?? PeerVersion(version: "", features: [])
        missing = PeerVersion.own.missing(in: daemon)
        unused = daemon.missing(in: .own)
    }
}

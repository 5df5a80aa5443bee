/// How a client stands with the daemon.
public enum ConnectionState: Hashable, Sendable {
    /// It is being connected.
    case connecting
    /// The daemon knows this process as a handler of the app: pushes come here, and nothing is started for them.
    case connected
    /// It is not connected, for this reason, and is tried again after `retry`.
    case waiting(why: RingwakeKitError, retry: Duration)
    /// It was closed, and stays so.
    case closed
}

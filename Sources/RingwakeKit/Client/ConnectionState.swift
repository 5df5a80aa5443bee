/// The state of a client's connection to the daemon. Later versions may have more: a `switch` needs an `@unknown default`.
@nonexhaustive
public enum ConnectionState: Hashable, Sendable {
    /// The client is connecting.
    case connecting
    /// The daemon knows this process as a handler of the app: pushes arrive here, and the daemon starts nothing for them.
    case connected
    /// The client is not connected, for this reason, and tries again after `retry`.
    case waiting(why: RingwakeKitError, retry: Duration)
    /// The client was closed.
    case closed
}

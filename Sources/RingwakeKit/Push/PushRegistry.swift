/// Delivers pushes, and the credentials that a sender needs to send them: PushKit's `PKPushRegistry`.
///
///     let registry = PushRegistry(client: client)
///     for await event in registry.events {
///         switch event {
///         case .credentialsUpdated(let credentials): await register(credentials)
///         case .credentialsInvalidated: await unregister()
///         case .incomingPush(let push): try await provider.reportIncomingCall(with: push.call)
///         default: break
///         }
///     }
///
/// Report or end the call of each push of the kind `call` in time. Each push comes once: when the daemon starts this
/// process, by its connection, or from what waited at the daemon.
public final class PushRegistry: Sendable {
    private let client: RingwakeClient

    /// All registries of a client get the same events.
    public init(client: RingwakeClient) {
        self.client = client
    }

    /// The newest credentials; empty before they are known, and if there are none any more.
    public var credentials: [PushCredentials] { client.state.credentials }

    /// What happens from now on, and what no reader has taken yet.
    ///
    /// A push waits for the first reader, and in each stream, as long as its call is in progress: none is dropped but an
    /// `update` that another follows. When more than 1,024 events wait, those go that do not matter any more. The stream ends
    /// with the client, which lives as long as the stream is read.
    public var events: AsyncStream<PushRegistryEvent> { client.state.pushes.stream(holding: client, on: client.queue) }

    /// Calls `body` with each of the ``events``, on the client's thread. It must not block.
    @discardableResult
    public func observeEvents(_ body: @escaping @Sendable (PushRegistryEvent) -> Void) -> Observation {
        client.state.pushes.observe(on: client.queue, body)
    }
}

/// What a registry delivers. Later versions may have more events: a `switch` needs an `@unknown default`.
@nonexhaustive
public enum PushRegistryEvent: Sendable {
    /// The credentials are known, or changed: give them to the sender. The list is never empty.
    case credentialsUpdated([PushCredentials])
    /// Pushes with the former credentials are refused from now on.
    case credentialsInvalidated
    /// A push came for this process.
    case incomingPush(IncomingPush)
}

extension PushRegistryEvent: QueuedEvent {
    var key: EventKey {
        switch self {
        case .credentialsUpdated, .credentialsInvalidated: EventKey("credentials")
        case .incomingPush(let push): EventKey("\(push.kind) \(push.attempt)", push.call)
        }
    }
}

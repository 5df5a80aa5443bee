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
/// Report or end the call of each push of the kind `call` in time. Each push arrives once: from the start of this process,
/// over its connection, or from the pushes that waited in the daemon.
public final class PushRegistry: Sendable {
    private let client: RingwakeClient

    /// All registries of a client get the same events.
    public init(client: RingwakeClient) {
        self.client = client
    }

    /// The newest credentials; empty before they are known, and after they became invalid.
    public var credentials: [PushCredentials] { client.state.credentials }

    /// The events from now on, and earlier ones that no reader has taken yet.
    ///
    /// While its call is in progress, a push waits for the first reader, and in each stream: none is dropped, except an
    /// `update` that another one follows. If more than 1,024 events wait, the client drops those that no longer matter. The
    /// stream ends with the client, which lives as long as the stream is read.
    public var events: AsyncStream<PushRegistryEvent> { client.state.pushes.stream(holding: client, on: client.queue) }

    /// Calls `body` with each of the ``events``, on the client's thread. It must not block.
    @discardableResult
    public func observeEvents(_ body: @escaping @Sendable (PushRegistryEvent) -> Void) -> Observation {
        client.state.pushes.observe(on: client.queue, body)
    }
}

/// An event of a registry. Later versions may have more events: a `switch` needs an `@unknown default`.
@nonexhaustive
public enum PushRegistryEvent: Sendable {
    /// The credentials became known, or changed: send them to the sender. The list is never empty.
    case credentialsUpdated([PushCredentials])
    /// From now on the daemon refuses pushes with the former credentials.
    case credentialsInvalidated
    /// A push arrived for this process.
    case incomingPush(IncomingPush)
    /// The device and its gateway disagree about its registrations: before anything is changed, and afterwards.
    case linkReset(LinkReset)
}

extension PushRegistryEvent: QueuedEvent {
    var key: EventKey {
        switch self {
        case .credentialsUpdated, .credentialsInvalidated: EventKey("credentials")
        case .linkReset(let reset): EventKey("linkReset \(reset.stage)")
        case .incomingPush(let push): EventKey("\(push.kind) \(push.attempt)", push.call)
        }
    }
}

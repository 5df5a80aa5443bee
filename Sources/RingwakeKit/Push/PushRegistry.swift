/// Where pushes come in and what a sender needs to send them: PushKit's `PKPushRegistry`.
///
///     let registry = PushRegistry(client: client)
///     for await event in registry.events {
///         switch event {
///         case .credentialsUpdated(let credentials): await register(credentials)
///         case .credentialsInvalidated: await unregister()
///         case .incomingPush(let push): try await provider.report(push.call)
///         }
///     }
///
/// Each push of the kind `call` is to be reported, or ended, before its time is over. A push is told once: by what the
/// daemon starts this process with, by its connection, or by what waited there.
public final class PushRegistry: Sendable {
    private let client: RingwakeClient

    /// Several registries of a client are told the same.
    public init(client: RingwakeClient) {
        self.client = client
    }

    /// The newest credentials; empty before they are known, and when there are none any more.
    public var credentials: [PushCredentials] { client.hub.credentials }

    /// What happens from now on, and what has happened before anybody asked.
    ///
    /// Up to 1,024 events wait for the first reader, and as many in each stream; of more the oldest are dropped. The
    /// stream ends with the client, which lives as long as it is read.
    public var events: AsyncStream<PushRegistryEvent> { client.hub.pushes.stream(holding: client, on: client.port) }

    /// Calls `body` with what ``events`` gives, on the client's thread. It must not wait there.
    public func onEvent(_ body: @escaping @Sendable (PushRegistryEvent) -> Void) {
        client.hub.pushes.add(body, on: client.port)
    }
}

/// What a registry tells.
public enum PushRegistryEvent: Sendable {
    /// The credentials are known, or are others: give them to the sender. The list is never empty.
    case credentialsUpdated([PushCredentials])
    /// Pushes sent with the credentials that were told are refused from now on.
    case credentialsInvalidated
    /// A push came for this process.
    case incomingPush(IncomingPush)
}

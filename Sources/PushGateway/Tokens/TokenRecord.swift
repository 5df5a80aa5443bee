package import RingwakeCore

/// What the gateway knows of one device token.
package nonisolated struct TokenRecord: Equatable, Sendable {
    /// The app that it was made for.
    package let app: AppID
    /// The topic that pushes to it must have.
    package let topic: Topic
    /// The environment that it works in.
    package let environment: PushEnvironment
    /// Whether it still works.
    package let state: State

    package init(app: AppID, topic: Topic, environment: PushEnvironment, state: State) {
        self.app = app
        self.topic = topic
        self.environment = environment
        self.state = state
    }

    /// Whether a token works.
    package enum State: Equatable, Sendable {
        /// It does.
        case registered
        /// Its app was removed, or got a new token, at this time in ms since 1970.
        case unregistered(at: Int64)
    }

    /// The same token in another state.
    func with(_ state: State) -> TokenRecord {
        TokenRecord(app: app, topic: topic, environment: environment, state: state)
    }

    /// Since when it is unregistered, in ms since 1970; nil while it is registered.
    var unregisteredAt: Int64? {
        switch state {
        case .registered: nil
        case .unregistered(let time): time
        }
    }
}

package import RingwakeCore

/// What the gateway knows about one device token.
package nonisolated struct TokenRecord: Equatable, Sendable {
    /// The app that it was made for.
    package let app: AppID
    /// Topic that pushes to it must have.
    package let topic: Topic
    /// Environment in which it is valid.
    package let environment: PushEnvironment
    /// Whether it is valid.
    package let state: State

    package init(app: AppID, topic: Topic, environment: PushEnvironment, state: State) {
        self.app = app
        self.topic = topic
        self.environment = environment
        self.state = state
    }

    /// Whether a token is valid.
    package enum State: Equatable, Sendable {
        /// It is valid.
        case registered
        /// Its app was removed at this time in ms since 1970.
        case unregistered(at: Int64)
        /// Its app got a new token in its place at this time in ms since 1970.
        case expired(at: Int64)
    }

    /// The same record in another state.
    func with(_ state: State) -> TokenRecord {
        TokenRecord(app: app, topic: topic, environment: environment, state: state)
    }

    /// When it ceased to be valid, in ms since 1970; nil if it is registered.
    var endedAt: Int64? {
        switch state {
        case .registered: nil
        case .unregistered(let time), .expired(let time): time
        }
    }
}

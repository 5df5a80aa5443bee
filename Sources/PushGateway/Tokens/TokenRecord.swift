internal import DeviceLink
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
    /// Its name on the link; nil if it was made for this machine alone.
    package let slot: LinkSlot?

    package init(app: AppID, topic: Topic, environment: PushEnvironment, state: State, slot: LinkSlot? = nil) {
        self.app = app
        self.topic = topic
        self.environment = environment
        self.state = state
        self.slot = slot
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
        TokenRecord(app: app, topic: topic, environment: environment, state: state, slot: slot)
    }

    /// When it ceased to be valid, in ms since 1970; nil if it is registered.
    var endedAt: Int64? {
        switch state {
        case .registered: nil
        case .unregistered(let time), .expired(let time): time
        }
    }
}

nonisolated extension [TokenHash: TokenRecord] {
    /// The registered ones by their names on the link.
    var slots: [LinkSlot: TokenHash] {
        var found: [LinkSlot: TokenHash] = [:]
        for (hash, record) in self where record.state == .registered {
            if let slot = record.slot { found[slot] = hash }
        }
        return found
    }

    /// The registered ones as a gateway gets them, in the order of their names.
    var registrations: [LinkRegistration] {
        slots.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { slot, hash in
            self[hash].map {
                LinkRegistration(
                    slot: slot, app: $0.app, topics: [$0.topic], environment: $0.environment, token: hash.hex)
            }
        }
    }

    /// With the registered ones among these expired.
    func expiring(at time: Int64, _ isMeant: (TokenHash) -> Bool) -> Self {
        var changed = self
        for (hash, record) in self where record.state == .registered && isMeant(hash) {
            changed[hash] = record.with(.expired(at: time))
        }
        return changed
    }

    /// Without the oldest unregistered and expired ones beyond ``TokenStore/maximumUnregistered``.
    var withoutTheOldest: Self {
        var gone = compactMap { hash, record in record.endedAt.map { (hash: hash, time: $0) } }
        guard gone.count > TokenStore.maximumUnregistered else { return self }
        gone.sort { $0.time < $1.time }
        var kept = self
        for entry in gone.prefix(gone.count - TokenStore.maximumUnregistered) { kept[entry.hash] = nil }
        return kept
    }
}

package import Cryptography

/// The teams that may push. The environment of a push depends on the listener, not on this.
package struct GatewayConfiguration {
    /// Teams by ID. Pushes from other teams are refused.
    package let teams: [String: Team]

    /// Takes the configured teams. If two have the same ID, the later one counts.
    package init(teams: [Team]) {
        self.teams = Dictionary(teams.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    }
}

extension GatewayConfiguration {
    /// A team of senders: the OU of its provider certificates, the `iss` of its provider tokens.
    package struct Team {
        /// The team ID; Apple's have ten characters.
        package let id: String
        /// Topics that the team may send to, written in full; nil allows all.
        package let topics: Set<String>?
        /// Public keys of its provider tokens, by key ID (`kid`).
        package let keys: [String: P256PublicKey]
        /// Whether each of its accepted pushes is answered with its outcome.
        package let getsOutcome: Bool
        /// Where its receipts are posted to; nil: nowhere.
        package let webhook: Webhook?

        package init(
            id: String, topics: [String]?, keys: [String: P256PublicKey], getsOutcome: Bool = false,
            webhook: Webhook? = nil
        ) {
            self.id = id
            self.topics = topics.map { Set($0) }
            self.keys = keys
            self.getsOutcome = getsOutcome
            self.webhook = webhook
        }
    }
}

package import Cryptography

/// Who may push through the gateway. Which environment a push is for belongs to the listener, not here.
package struct GatewayConfiguration {
    /// The teams by their id; a sender of any other team is refused.
    package let teams: [String: Team]

    /// Takes the teams of the configuration; of two with one id the later counts.
    package init(teams: [Team]) {
        self.teams = Dictionary(teams.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    }
}

extension GatewayConfiguration {
    /// A team of senders: the OU of its provider certificates, the `iss` of its provider tokens.
    package struct Team {
        /// The team id; Apple's have ten characters.
        package let id: String
        /// The topics that the team may send to, each written out whole; nil allows any.
        package let topics: Set<String>?
        /// The public keys of its provider tokens, by key id (`kid`).
        package let keys: [String: P256PublicKey]

        package init(id: String, topics: [String]?, keys: [String: P256PublicKey]) {
            self.id = id
            self.topics = topics.map { Set($0) }
            self.keys = keys
        }
    }
}

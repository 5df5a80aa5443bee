/// Whether the daemon, or one app, can reach what it has to: what a status line shows.
package struct ConnectionStatus: Hashable, Sendable {
    /// The three states.
    package enum State: String, Hashable, Sendable, CaseIterable {
        /// All is well.
        case online
        /// Something works, but not all of it, or not as it should.
        case limited
        /// Nothing can be reached.
        case offline
    }

    package let state: State
    /// Why it is not online, as one word; nil when it is. Of `offline` and of `connectionRequired` it is the reason
    /// that reachability gives, else one of ``Why``.
    package let why: String?

    private init(_ state: State, _ why: String? = nil) {
        self.state = state
        self.why = why
    }

    /// The words that reachability has no reason for.
    package enum Why: String, Hashable, Sendable, CaseIterable {
        /// Some of the app's targets are reachable, others are not.
        case someTargetsUnreachable
        /// No name server is reachable: addresses are, names are not.
        case noNameServer
        /// The interface in use is to be spared, the configuration says.
        case constrained
    }

    /// Whether the network, or one destination, can be used.
    package enum Usability: Hashable, Sendable {
        case usable
        /// Once a connection is made, which traffic does.
        case needsConnection(reason: String)
        case unusable(reason: String)
    }

    /// Of the network as a whole: the daemon's.
    package init(network: Usability, hasNameServer: Bool, isConstrained: Bool) {
        switch network {
        case .unusable(let reason): self.init(.offline, reason)
        case .needsConnection(let reason): self.init(.limited, reason)
        case .usable where !hasNameServer: self.init(.limited, Why.noNameServer.rawValue)
        case .usable where isConstrained: self.init(.limited, Why.constrained.rawValue)
        case .usable: self.init(.online)
        }
    }

    /// Of an app, by the targets that it named, in its order: online when all can be used, offline with the reason of
    /// the first when none can be used at all.
    ///
    /// - Returns: Nil when it named none; then the daemon's is the app's.
    package init?(targets: [Usability]) {
        var reasons: [String] = []
        var usable = 0
        var needing: String?
        for target in targets {
            switch target {
            case .usable: usable += 1
            case .needsConnection(let reason): needing = needing ?? reason
            case .unusable(let reason): reasons.append(reason)
            }
        }
        guard !targets.isEmpty else { return nil }
        if usable == targets.count {
            self.init(.online)
        } else if reasons.count == targets.count, let first = reasons.first {
            self.init(.offline, first)
        } else if reasons.isEmpty, usable == 0, let needing {
            self.init(.limited, needing)
        } else {
            self.init(.limited, Why.someTargetsUnreachable.rawValue)
        }
    }
}

/// Whether the daemon or an app can reach its targets, for a status line.
package struct ConnectionStatus: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        /// Everything can be reached.
        case online
        /// Only a part can be reached, or it can be reached with restrictions.
        case limited
        /// Nothing can be reached.
        case offline
    }

    package let state: State
    /// Why the state is not online, as one word; nil if it is. For `offline` and `connectionRequired` it is the reason
    /// from the reachability check, otherwise one of ``Why``.
    package let why: String?

    private init(_ state: State, _ why: String? = nil) {
        self.state = state
        self.why = why
    }

    /// The reasons that a reachability check doesn't give.
    package enum Why: String, Hashable, Sendable, CaseIterable {
        /// Some of the app's targets are reachable, others are not.
        case someTargetsUnreachable
        /// Addresses are reachable, but no name server is, so names cannot be resolved.
        case noNameServer
        /// The configuration asks to use the current interface sparingly.
        case constrained
    }

    /// Whether the network, or one destination, can be used.
    package enum Usability: Hashable, Sendable {
        case usable
        /// Usable after a connection is made. Traffic makes it.
        case needsConnection(reason: String)
        case unusable(reason: String)
    }

    /// The status of the daemon, for the network as a whole.
    package init(network: Usability, hasNameServer: Bool, isConstrained: Bool) {
        switch network {
        case .unusable(let reason): self.init(.offline, reason)
        case .needsConnection(let reason): self.init(.limited, reason)
        case .usable where !hasNameServer: self.init(.limited, Why.noNameServer.rawValue)
        case .usable where isConstrained: self.init(.limited, Why.constrained.rawValue)
        case .usable: self.init(.online)
        }
    }

    /// The status of an app, from its targets in the configured order: online if all are usable; offline, with the
    /// reason of the first, if none is.
    ///
    /// - Returns: nil if the app has no targets. The daemon's status then applies to the app.
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

package import RunLoop

/// A connection that has a place.
package protocol PlacedConnection: AnyObject {
    /// The stranger that it belongs to.
    var network: PeerNetwork { get }
    var acceptedAt: BootClock.Instant { get }
    /// Who it has proven to belong to; nil while it has proven nothing.
    var account: String? { get }
}

/// The places for connections of a listener.
///
/// Most belong to senders that have proven who they are, by a certificate or a token. The others are for connections
/// that have proven nothing yet: there, a new connection always gets a place, and the oldest loses its own.
package struct ConnectionPlaces<Connection: PlacedConnection> {
    /// A connection that has to be closed, because it met a bound.
    package typealias Displaced = (connection: Connection, bound: ConnectionBound)

    private let maximumUnproven: Int
    private let maximumUnprovenOfNetwork: Int
    private var shares: FairShares
    /// Connections that have proven nothing, oldest first.
    private var unproven: [Connection] = []

    package init(_ limits: ConnectionLimits) {
        maximumUnproven = limits.maximumUnprovenConnections
        maximumUnprovenOfNetwork = limits.maximumUnprovenConnectionsOfNetwork
        shares = FairShares(capacity: max(1, limits.maximumConnections - maximumUnproven))
    }

    /// Guarantees places to each of this many accounts.
    package mutating func divide(among accounts: Int) { shares.divide(among: accounts) }

    /// Gives a place to a connection that has just been accepted.
    ///
    /// - Returns: the connection whose place it takes.
    package mutating func admit(_ connection: Connection) -> Displaced? {
        unproven.append(connection)
        let network = connection.network
        if unproven.count > maximumUnprovenOfNetwork {
            let ofNetwork = unproven.lazy.filter { $0.network == network }
            if ofNetwork.count > maximumUnprovenOfNetwork, let oldest = ofNetwork.first {
                return (oldest, .unprovenPlacesOfNetwork)
            }
        }
        guard unproven.count > maximumUnproven, let oldest = unproven.first else { return nil }
        return (oldest, .unprovenPlaces)
    }

    /// Whether there is a place for one more connection of an account.
    package func hasRoom(for account: String) -> Bool { shares.hasRoom(for: 1, of: account) }

    /// Moves a connection to the places of its account. Returns false if there are none left.
    package mutating func prove(_ connection: Connection, as account: String) -> Bool {
        guard shares.take(1, for: account) else { return false }
        removeUnproven(connection)
        return true
    }

    /// Takes back the place of a connection that has been closed.
    package mutating func remove(_ connection: Connection) {
        if let account = connection.account {
            shares.give(1, of: account)
        } else {
            removeUnproven(connection)
        }
    }

    private mutating func removeUnproven(_ connection: Connection) {
        guard let index = unproven.firstIndex(where: { $0 === connection }) else { return }
        unproven.remove(at: index)
    }

    /// When the oldest connection that has proven nothing has to be closed; nil while fewer than half of the places are
    /// taken: senders with tokens connect at their start, and wait with their first push.
    package func idleDeadline(after time: Duration) -> BootClock.Instant? {
        guard let oldest = unproven.first, unproven.count * 2 >= maximumUnproven else { return nil }
        return oldest.acceptedAt.advanced(by: time)
    }

    /// The oldest connection that has proven nothing.
    package var oldestUnproven: Connection? { unproven.first }
}

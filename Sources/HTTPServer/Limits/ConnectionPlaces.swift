package import RunLoop

/// A connection that has a place.
package protocol PlacedConnection: AnyObject {
    /// The stranger that it belongs to.
    var network: PeerNetwork { get }
    var acceptedAt: BootClock.Instant { get }
    /// Who it has proven to belong to; nil while it has proven nothing.
    var account: String? { get }
    /// Whether it waits for this process: its peer has done its part.
    var waitsForUs: Bool { get }
}

/// The places for connections of a listener.
///
/// Most belong to senders that have proven who they are, by a certificate or a token. The others are for connections
/// that have proven nothing yet. There, a new connection takes the place of one that lets us wait: the oldest of its own
/// network, or of the network with the most. What waits for us is spared: in a herd, the oldest are those that are served
/// next.
package struct ConnectionPlaces<Connection: PlacedConnection> {
    /// A connection that has to be closed, because it met a bound. It may be the new one.
    package typealias Displaced = (connection: Connection, bound: ConnectionBound)

    /// While others of the same network wait for us, a peer may take this long for its next bytes.
    private static var patience: Duration { .seconds(1) }
    /// How many connections are asked whether they wait for us.
    private static var maximumAsked: Int { 64 }

    private let maximumUnproven: Int
    private let maximumUnprovenOfNetwork: Int
    private var shares: FairShares
    /// Connections that have proven nothing, oldest first.
    private var unproven: [Connection] = []
    private var countOfNetwork: [PeerNetwork: Int] = [:]

    package init(_ limits: ConnectionLimits) {
        maximumUnproven = limits.maximumUnprovenConnections
        maximumUnprovenOfNetwork = limits.maximumUnprovenConnectionsOfNetwork
        shares = FairShares(capacity: max(1, limits.maximumConnections - maximumUnproven))
    }

    /// Guarantees places to each of this many accounts.
    package mutating func divide(among accounts: Int) { shares.divide(among: accounts) }

    /// Gives a place to a connection that has just been accepted.
    ///
    /// - Returns: the connection that has to leave, if there are too many.
    package mutating func admit(_ connection: Connection) -> Displaced? {
        let network = connection.network
        unproven.append(connection)
        let count = countOfNetwork[network, default: 0] + 1
        countOfNetwork[network] = count
        if count > maximumUnprovenOfNetwork {
            return (idle(of: network, for: connection) ?? connection, .unprovenPlacesOfNetwork)
        }
        guard unproven.count > maximumUnproven else { return nil }
        guard let most = countOfNetwork.max(by: { $0.value < $1.value }), most.value > count else {
            return (idle(of: nil, for: connection) ?? connection, .unprovenPlaces)
        }
        let ofMost = unproven.lazy.filter { $0.network == most.key }
        let oldest = ofMost.prefix(Self.maximumAsked).first { !$0.waitsForUs }
        return (oldest ?? ofMost.last ?? connection, .unprovenPlaces)
    }

    /// The oldest connection that lets us wait, of a network or of all.
    ///
    /// - Returns: nil if there is none; or if others wait for us, which means that we are slow, and this one is younger
    ///   than ``patience``.
    private func idle(of network: PeerNetwork?, for new: Connection) -> Connection? {
        var oldest: Connection?
        var areWeSlow = false
        for candidate in unproven.lazy.filter({ $0 !== new && network ?? $0.network == $0.network })
            .prefix(Self.maximumAsked)
        {
            if candidate.waitsForUs {
                areWeSlow = true
            } else if oldest == nil {
                oldest = candidate
            }
            if areWeSlow, oldest != nil { break }
        }
        guard let oldest else { return nil }
        return areWeSlow && new.acceptedAt < oldest.acceptedAt.advanced(by: Self.patience) ? nil : oldest
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
        let count = countOfNetwork[connection.network, default: 0] - 1
        countOfNetwork[connection.network] = count > 0 ? count : nil
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

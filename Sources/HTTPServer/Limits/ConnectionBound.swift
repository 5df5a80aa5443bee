/// A bound that a peer met, and that cost it a connection or a request.
package nonisolated enum ConnectionBound: String, CaseIterable, Sendable {
    /// A connection that had proven nothing was closed, because too many were open.
    case unprovenPlaces
    /// The same among the connections of one network.
    case unprovenPlacesOfNetwork
    /// A connection that had proven nothing was idle for too long while many of its kind were open.
    case unprovenIdle
    /// Connections that had proven nothing held too many bytes of requests.
    case unprovenBytes
    /// A connection that had proven nothing had too many requests refused.
    case refusals
    /// The oldest idle connection of a sender was closed, because a new one of the same sender needed its place.
    case placesOfSender
    /// A sender's requests held too many bytes.
    case bytesOfSender
    /// A connection had too many open streams.
    case streams
    /// A client reset streams, made this server reset them, or sent invalid frames too often.
    case resets
    /// A client sent too many PING frames.
    case pings
    /// A client sent too many SETTINGS frames.
    case settings
    /// A client sent too many DATA frames for its requests.
    case dataFrames
    /// A client sent too many other frames for its requests.
    case otherFrames
    /// The TLS handshake, the HTTP/2 preface, or a frame took too long.
    case slowConnection
    /// A request took too long.
    case slowRequest
    /// A client did not read its answers in time.
    case slowReader

    /// What GOAWAY says of it, in the form of APNs' reasons.
    var reason: String {
        switch self {
        case .unprovenPlaces, .unprovenPlacesOfNetwork, .placesOfSender: "TooManyConnections"
        case .unprovenIdle, .slowConnection, .slowRequest, .slowReader: "IdleTimeout"
        case .unprovenBytes, .refusals, .bytesOfSender, .streams: "TooManyRequests"
        case .resets: "TooManyResets"
        case .pings: "TooManyPings"
        case .settings: "TooManySettings"
        case .dataFrames, .otherFrames: "TooManyFrames"
        }
    }
}

/// Number of times that each bound was met since the start, for all listeners.
package final class BoundCounters {
    package private(set) var counts: [ConnectionBound: UInt64] = [:]

    /// The same, as the status names them.
    package var countsByName: [String: UInt64] {
        Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) })
    }

    package init() {}

    /// Wraps around, instead of trapping, after 2^64.
    func count(_ bound: ConnectionBound) { counts[bound, default: 0] &+= 1 }
}

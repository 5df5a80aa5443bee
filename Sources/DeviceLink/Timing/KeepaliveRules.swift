/// The numbers of the search for a keep-alive interval. Seen in the field: NATs that forget an idle connection after
/// 45 s to 60 min, most of them after 4 min or later.
package enum KeepaliveRules {
    /// See ``KeepaliveBounds/start``.
    static let start = Duration.seconds(4 * 60)
    /// See ``KeepaliveBounds/shortest``.
    static let floor = Duration.seconds(45)
    /// How much longer than the interval a probe tries.
    static let growth = Duration.seconds(60)
    /// The distance that is kept from an idle time that failed.
    static let margin = Duration.seconds(20)
    /// A probe for less than this is not worth its packets.
    static let smallestGain = Duration.seconds(10)
    /// This many good periods in a row allow a probe, and excuse a link that died after no longer time.
    static let goodRun = 5

    /// The wait before links are trusted with a time that failed once, and before the limit is tried again. That one
    /// doubles with each retry that fails, because most NATs keep their time-outs for years.
    static let firstHold = Duration.seconds(24 * 60 * 60)
    static let longestHold = Duration.seconds(7 * 24 * 60 * 60)
    /// More retries than this make no difference to the hold.
    static let countedRetries = 3
    /// The wait after a probe without a result. It doubles with each one in a row.
    static let firstPause = Duration.seconds(60 * 60)
    static let longestPause = Duration.seconds(24 * 60 * 60)
    /// A probe without a result has been lost after twice its interval and this.
    static let probeGrace = Duration.seconds(60)

    /// A network that no link used for this long is forgotten.
    static let retention = Duration.seconds(7 * 24 * 60 * 60)
    /// The error of a measured idle time.
    static let tolerance = Duration.seconds(2)

    /// The kernel repeats a keep-alive that got no answer this often, at the distance of ``repetition(of:)``, and then
    /// gives the connection up.
    package static let repetitions: Int32 = 3

    /// See ``repetitions``.
    package static func repetition(of interval: Duration) -> Duration { min(max(interval, .seconds(1)), .seconds(20)) }

    /// How long after a keep-alive the kernel has given up a connection on which nothing answers.
    package static func patience(of interval: Duration) -> Duration { repetition(of: interval) * Int(repetitions) }

    /// How long a device waits at least whose last `needless` probes were not due. A call may be the cause once.
    package static func pause(after needless: Int) -> Duration {
        needless > 1 ? doubled(firstPause, needless - 2, atMost: longestPause) : .zero
    }

    /// `first` doubled `times` times, at most `longest`.
    static func doubled(_ first: Duration, _ times: Int, atMost longest: Duration) -> Duration {
        min(first * (1 << min(max(times, 0), 20)), longest)
    }
}

/// The intervals that a gateway may use.
package struct KeepaliveBounds: Hashable, Sendable {
    /// The interval on a network about which nothing is known.
    package let start: Duration
    /// The shortest interval. Below, the radio would never sleep.
    package let shortest: Duration
    /// The longest interval; nil: by the kind of the network.
    private let longest: Duration?

    /// What contradicts the shortest interval gives way to it.
    package init(start: Duration? = nil, shortest: Duration? = nil, longest: Duration? = nil) {
        self.shortest = shortest ?? KeepaliveRules.floor
        self.longest = longest.map { [shortest = self.shortest] in max($0, shortest) }
        self.start = max(start ?? KeepaliveRules.start, self.shortest)
    }

    /// The longest interval on a network of this kind.
    func longest(_ kind: NetworkKind) -> Duration { max(longest ?? kind.longestKeepalive, shortest) }
}

/// The kind of the network that a device uses.
package enum NetworkKind: String, Hashable, Sendable, CaseIterable {
    case cellular
    case wiFi = "wifi"
    case ethernet

    /// The longest keep-alive interval. NATs of mobile operators are the more patient ones.
    package var longestKeepalive: Duration {
        switch self {
        case .cellular: .seconds(28 * 60)
        case .wiFi, .ethernet: .seconds(15 * 60)
        }
    }
}

/// Names a network by opaque bytes, for example a hash of the source prefix and the device's label.
package struct NetworkKey: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }
}

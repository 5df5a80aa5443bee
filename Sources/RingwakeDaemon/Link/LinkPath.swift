internal import Reachability
internal import RingwakeCore

/// The device's way to a gateway: its addresses, and whether there is a path to them. Watched, never polled.
final class LinkPath {
    /// Called when one of the two has changed, from the loop.
    var onChange: () -> Void = {}
    private(set) var addresses: [IPAddress] = []
    /// Whether one of the addresses can be reached.
    private(set) var isOpen = false
    /// What the packets to them leave by.
    private(set) var interface: NetworkInterface?
    private let network: NetworkWatch
    private var watch: NetworkMonitor.Watch?

    init(network: NetworkWatch) {
        self.network = network
    }

    /// Watches the way to a host, and no longer the former one.
    ///
    /// - Throws: the host makes no sense, or it can't be watched.
    func lead(to host: String) throws(RingwakeError) {
        close()
        guard let target = ReachabilityTarget(host) else {
            throw RingwakeError(.badConfiguration, "'\(host)' is neither a name nor an address")
        }
        do throws(RingwakeError) {
            watch = try network.requireWatch(target) { [weak self] reachability in
                guard let self else { return }
                addresses = reachability.addresses
                isOpen = reachability.isReachable && !addresses.isEmpty
                interface = reachability.interface
                onChange()
            }
        } catch {
            throw RingwakeError(.system, "the way to the gateway cannot be watched: \(error.message)")
        }
    }

    /// Watches nothing.
    func close() {
        watch?.cancel()
        (watch, addresses, isOpen, interface) = (nil, [], false, nil)
    }
}

/// Whether the device itself may be the cause that its last link died: its machine slept, or was off. The gateway is told,
/// and then blames no NAT.
struct LinkAbsence: Hashable, Sendable {
    /// True before the first link: nobody knows how the machine was stopped.
    private(set) var isLikely = true
    private var resumedAt: BootInstant?

    /// A link that ends so soon after a sleep has died during it: it is checked when there is a path again, which may take
    /// minutes.
    static let aftermath = Duration.seconds(600)

    mutating func resumed(at now: BootInstant) { resumedAt = now }

    mutating func linked() { isLikely = false }

    mutating func ended(at now: BootInstant) {
        guard let resumedAt, resumedAt.duration(to: now) < Self.aftermath else { return }
        isLikely = true
    }
}

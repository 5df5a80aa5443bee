import HTTPServer
import RunLoop
import Testing

/// Who has to leave when there are too many connections that have proven nothing.
@Suite struct ConnectionPlacesTests {
    private final class Stranger: PlacedConnection {
        let network: PeerNetwork
        let acceptedAt: BootClock.Instant
        let account: String? = nil
        var waitsForUs: Bool

        init(_ address: String, at milliseconds: Int64 = 0, waitsForUs: Bool = false) {
            network = PeerNetwork(of: address + ":1")
            acceptedAt = BootClock.Instant(nanoseconds: milliseconds * 1_000_000)
            self.waitsForUs = waitsForUs
        }
    }

    private var places: ConnectionPlaces<Stranger> = {
        var limits = ConnectionLimits()
        limits.maximumUnprovenConnections = 4
        limits.maximumUnprovenConnectionsOfNetwork = 3
        return ConnectionPlaces(limits)
    }()

    private mutating func fill(_ strangers: Stranger...) {
        for stranger in strangers {
            let displaced = places.admit(stranger)
            #expect(displaced == nil)
        }
    }

    @Test("While we let nobody wait, the oldest leaves, however young it is")
    mutating func oldest() {
        let first = Stranger("192.0.2.1")
        fill(first, Stranger("192.0.2.1"), Stranger("192.0.2.1"))
        let displaced = places.admit(Stranger("192.0.2.1"))
        #expect(displaced?.connection === first)
        #expect(displaced?.bound == .unprovenPlacesOfNetwork)
    }

    @Test("Who waits for us keeps its place, and the new one leaves")
    mutating func waiting() {
        fill(
            Stranger("192.0.2.1", waitsForUs: true), Stranger("192.0.2.1", waitsForUs: true),
            Stranger("192.0.2.1", waitsForUs: true))
        let new = Stranger("192.0.2.1", waitsForUs: true)
        let displaced = places.admit(new)
        #expect(displaced?.connection === new)
    }

    @Test("While we are slow, a peer has a second for its next bytes", arguments: [(999, false), (1000, true)])
    mutating func patience(milliseconds: Int64, leaves: Bool) {
        let idle = Stranger("192.0.2.1")
        fill(idle, Stranger("192.0.2.1", waitsForUs: true), Stranger("192.0.2.1", waitsForUs: true))
        let new = Stranger("192.0.2.1", at: milliseconds, waitsForUs: true)
        let displaced = places.admit(new)
        #expect(displaced?.connection === (leaves ? idle : new))
    }

    @Test("A newcomer takes the place of the network with the most")
    mutating func most() {
        let old = Stranger("192.0.2.1")
        let first = Stranger("192.0.2.2", waitsForUs: true)
        let second = Stranger("192.0.2.2")
        fill(old, first, second, Stranger("192.0.2.2", waitsForUs: true))
        let displaced = places.admit(Stranger("192.0.2.3"))
        #expect(displaced?.connection === second)
        #expect(displaced?.bound == .unprovenPlaces)
    }

    @Test("If all of that network wait for us, its youngest leaves")
    mutating func youngest() {
        let youngest = Stranger("192.0.2.2", waitsForUs: true)
        fill(Stranger("192.0.2.1"), Stranger("192.0.2.2", waitsForUs: true), youngest, Stranger("192.0.2.3"))
        let displaced = places.admit(Stranger("192.0.2.4"))
        #expect(displaced?.connection === youngest)
    }

    @Test("Who has left counts no more")
    mutating func left() {
        let strangers = (1...3).map { _ in Stranger("192.0.2.1") }
        for stranger in strangers { fill(stranger) }
        places.remove(strangers[0])
        let displaced = places.admit(Stranger("192.0.2.1"))
        #expect(displaced == nil)
    }
}

internal import MQTT5
import RingwakeCore

/// Links that have to end, some at a time: ending all at once would make senders wait for their last packets, and the
/// devices come back together.
struct LinkSlices: Sendable {
    /// Those that end first at the end.
    private var waiting: [LinkID]
    /// The links that have not ended yet, in their order.
    var rest: [LinkID] { waiting.reversed() }
    private let size: Int
    /// When the next ones have to end; nil if there are none.
    private(set) var nextDeadline: BootInstant?

    private static let interval = Duration.milliseconds(100)

    /// Within this time `count` devices may come again, each at a random time.
    static func time(for count: Int) -> Duration { .seconds(min(120, max(1, count / 200))) }

    /// The links end within ``time(for:)``, the first ones now.
    init(_ links: [LinkID], at now: BootInstant) {
        let count = Int(Self.time(for: links.count) / Self.interval)
        waiting = links.reversed()
        size = (links.count + count - 1) / count
        nextDeadline = links.isEmpty ? nil : now
    }

    /// The links that have to end now.
    mutating func takeDue(at now: BootInstant) -> [LinkID] {
        guard let nextDeadline, nextDeadline <= now else { return [] }
        let due = Array(waiting.suffix(size).reversed())
        waiting.removeLast(due.count)
        self.nextDeadline = waiting.isEmpty ? nil : now.advanced(by: Self.interval)
        return due
    }
}

/// A link that has to end, with what its device is told.
struct LinkDeparture: Sendable {
    let link: LinkID
    let reason: MQTTReason
    let text: String
    var retryAfter: Duration?
    var serverReference: String?

    /// The device is to use another gateway: for good (0x9D), or for now (0x9C).
    static func reference(_ target: String, to link: LinkID, isForGood: Bool) -> LinkDeparture {
        LinkDeparture(
            link: link, reason: isForGood ? .serverMoved : .useAnotherServer, text: "use the gateway \(target)",
            serverReference: target)
    }
}

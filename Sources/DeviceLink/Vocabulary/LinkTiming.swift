package import MQTT5

/// What a gateway says to a device about keep-alives, in CONNACK and at the end of a probe. Times are seconds.
package struct LinkTiming: Hashable, Sendable {
    /// Between two keep-alives of the gateway's kernel; 0: there are none.
    package var keepAlive: UInt16
    /// The longest that this may become on the device's network.
    package var longest: UInt16?
    /// The shortest idle time after which the network is known to forget a connection.
    package var failed: UInt16?
    /// When a probe is worth it; nil: it isn't.
    package var probeAfter: UInt32?

    private enum Name {
        static let keepAlive = "keepalive"
        static let longest = "keepalive-longest"
        static let failed = "keepalive-failed"
        static let probeAfter = "probe"
    }

    package init(
        keepAlive: UInt16, longest: UInt16? = nil, failed: UInt16? = nil, probeAfter: UInt32? = nil
    ) {
        self.keepAlive = keepAlive
        self.longest = longest
        self.failed = failed
        self.probeAfter = probeAfter
    }

    /// Reads it from a gateway's packet; nil if it says nothing about keep-alives.
    init?(_ values: LinkProperties) {
        guard let keepAlive = values[Name.keepAlive].flatMap({ UInt16($0) }) else { return nil }
        self.init(
            keepAlive: keepAlive, longest: values[Name.longest].flatMap { UInt16($0) },
            failed: values[Name.failed].flatMap { UInt16($0) },
            probeAfter: values[Name.probeAfter].flatMap { UInt32($0) })
    }

    /// For a packet of the gateway.
    package var userProperties: [MQTTUserProperty] {
        [
            (Name.keepAlive, UInt32(keepAlive)), (Name.longest, longest.map { UInt32($0) }),
            (Name.failed, failed.map { UInt32($0) }), (Name.probeAfter, probeAfter),
        ].compactMap { name, value in value.map { MQTTUserProperty(name, String($0)) } }
    }
}

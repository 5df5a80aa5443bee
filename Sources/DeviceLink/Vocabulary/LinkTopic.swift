package import RingwakeCore

/// The two topics of a device. No other topic exists on a link.
package enum LinkTopic {
    /// Pushes to the device.
    package static func down(_ device: DeviceID) -> String { "ringwake/1/d/\(device)" }
    /// What the device publishes.
    package static func up(_ device: DeviceID) -> String { "ringwake/1/u/\(device)" }
}

/// ALPN's name of the link (the IANA registry of "TLS Application-Layer Protocol Negotiation Protocol IDs").
package let linkProtocol = "mqtt"

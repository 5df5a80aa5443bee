/// A network interface.
public struct NetworkInterface: Hashable, Sendable {
    /// The kind of network behind it.
    public enum InterfaceType: String, Hashable, Sendable, CaseIterable {
        /// A wireless LAN (IEEE 802.11).
        case wifi
        /// A mobile network.
        case cellular
        /// Wired Ethernet; also bridges, bonds, VLANs and taps, which behave like it.
        case wiredEthernet
        /// This machine itself.
        case loopback
        /// A tunnel, a point-to-point link, or anything else.
        case other
    }

    /// The kernel's number of the interface.
    public let index: UInt32
    /// The name, such as `wlan0`.
    public let name: String
    public let type: InterfaceType

    public init(index: UInt32, name: String, type: InterfaceType) {
        self.index = index
        self.name = name
        self.type = type
    }
}

import RingwakeCore

/// The connections of a gateway, and which of them is the newest of its device.
struct LinkTable {
    struct Link {
        /// What wrong codes are counted by.
        let network: String
        var session: GatewaySession
        /// Nil until it was accepted.
        fileprivate(set) var device: DeviceID?
        /// The revision of the registrations that the device has from this gateway's store; nil if it has none.
        var revision: UInt64?
    }

    private var links: [LinkID: Link] = [:]
    private var online: [DeviceID: LinkID] = [:]
    private var probes: [DeviceID: LinkID] = [:]

    subscript(_ id: LinkID) -> Link? { links[id] }
    var ids: [LinkID] { links.keys.sorted { $0.rawValue < $1.rawValue } }

    /// Devices with a link.
    var onlineCount: Int { online.count }
    /// The newest link of a device, which gets its pushes.
    func link(of device: DeviceID) -> LinkID? { online[device] }
    /// The connection of a device that only probes.
    func probe(of device: DeviceID) -> LinkID? { probes[device] }
    /// The connection whose place a newer one takes.
    func rival(of hello: LinkHello) -> LinkID? {
        switch hello.purpose {
        case .link: online[hello.device]
        case .probe: probes[hello.device]
        case .pair: nil
        }
    }

    /// How many pushes a device can take now; nil without a link.
    func room(of device: DeviceID) -> Int? { online[device].flatMap { links[$0]?.session.room } }

    mutating func open(_ id: LinkID, network: String, at now: BootInstant) {
        links[id] = Link(network: network, session: GatewaySession(at: now))
    }

    mutating func remove(_ id: LinkID) { links[id] = nil }

    /// Changes a connection.
    ///
    /// - Returns: nil if it is gone.
    mutating func change<Result>(_ id: LinkID, _ change: (inout Link) -> Result) -> Result? {
        // Out of the table meanwhile, so that nothing is copied.
        guard var link = links.removeValue(forKey: id) else { return nil }
        defer { links[id] = link }
        return change(&link)
    }

    /// A connection was accepted: it is a device's newest one of its purpose.
    mutating func accepted(_ id: LinkID, _ hello: LinkHello, epoch: String) {
        links[id]?.device = hello.device
        // A revision of another store says nothing about this one.
        links[id]?.revision = hello.epoch ?? epoch == epoch ? hello.revision : nil
        switch hello.purpose {
        case .link: online[hello.device] = id
        case .probe: probes[hello.device] = id
        case .pair: break
        }
    }

    /// A connection sends no more.
    ///
    /// - Returns: the device that has no link because of that.
    mutating func left(_ id: LinkID) -> DeviceID? {
        guard let device = links[id]?.device else { return nil }
        if probes[device] == id { probes[device] = nil }
        guard online[device] == id else { return nil }
        online[device] = nil
        return device
    }
}

/// The identity of this installation, and what it is called towards each vendor of apps.
///
/// All identifiers are random, so neither two vendors nor a vendor and the owner can tell from theirs that they know the
/// same device. None is made from the hardware.
///
/// | what happens | the vendor's identifier |
/// |---|---|
/// | the first app of a vendor is registered | is made |
/// | another app of it is registered, the daemon or the machine starts again | stays |
/// | an app's file is gone | stays: a missing file is no removal |
/// | an app gets another vendor | stays for the former one, until the app is removed |
/// | the last app that has had it is removed | is forgotten: the next one is another |
/// | ``renewed(machine:random:)`` | is replaced |
package struct DeviceIdentity: Equatable, Sendable {
    /// Makes as many bytes that nobody can guess.
    package typealias Random = (Int) throws(RingwakeError) -> [UInt8]

    /// What a vendor knows the device by.
    package struct Entry: Equatable, Sendable {
        package let id: RandomID
        /// The apps that have had it and were not removed.
        package var apps: Set<AppID>

        package init(id: RandomID, apps: Set<AppID>) {
            self.id = id
            self.apps = apps
        }
    }

    /// Names the installation, for its owner only. A link has an id of its own, ``DeviceID``, which its gateway knows.
    package let device: RandomID
    /// Names the machine that the identity was made on; nil: unknown. It can't be computed back.
    package private(set) var machine: String?
    package private(set) var vendors: [Vendor: Entry]

    /// Maximum pairs of an app and a vendor that it has or had: more than the registered apps twice over.
    package static let maximumPairs = 8192

    /// A stored identity.
    package init(device: RandomID, machine: String?, vendors: [Vendor: Entry]) {
        self.device = device
        self.machine = machine
        self.vendors = vendors
    }

    /// A new identity.
    package init(machine: String?, random: Random) throws(RingwakeError) {
        self.init(device: try Self.makeID(random), machine: machine, vendors: [:])
    }

    /// The same apps under other identifiers: for a reset, and for a backup that is restored on another device.
    ///
    /// - Parameter machine: the machine that it is for now.
    package func renewed(machine: String?, random: Random) throws(RingwakeError) -> DeviceIdentity {
        var new = try DeviceIdentity(machine: machine, random: random)
        for (vendor, entry) in vendors {
            new.vendors[vendor] = Entry(id: try Self.makeID(random), apps: entry.apps)
        }
        return new
    }

    /// Whether the identity was made on another machine than this: somebody copied the state directory or the disk. Two
    /// machines then have the same identity. False if either is unknown.
    package func isCopied(to machine: String?) -> Bool {
        guard let former = self.machine, let machine else { return false }
        return former != machine
    }

    /// From now on the identity belongs to this machine.
    package mutating func belong(to machine: String?) { self.machine = machine ?? self.machine }

    /// What a vendor's app knows the device by; nil before it is registered.
    package func id(of app: AppID, by vendor: Vendor) -> RandomID? {
        vendors[vendor].flatMap { $0.apps.contains(app) ? $0.id : nil }
    }

    /// The vendor that an app was registered with, if there was one only.
    package func onlyVendor(of app: AppID) -> Vendor? {
        let known = vendors.filter { $0.value.apps.contains(app) }
        return known.count == 1 ? known.first?.key : nil
    }

    /// Registers an app with its vendor, whose identifier is made if this is its first app.
    ///
    /// - Throws: `limitReached` at ``maximumPairs``.
    package mutating func register(_ app: AppID, of vendor: Vendor, random: Random) throws(RingwakeError) {
        guard id(of: app, by: vendor) == nil else { return }
        guard vendors.values.reduce(0, { $0 + $1.apps.count }) < Self.maximumPairs else {
            throw RingwakeError(
                .limitReached,
                "the identity has \(Self.maximumPairs) apps already; remove some with 'ringwake app remove'")
        }
        let id = if let known = vendors[vendor] { known.id } else { try Self.makeID(random) }
        vendors[vendor, default: Entry(id: id, apps: [])].apps.insert(app)
    }

    /// An app was removed. A vendor without apps is forgotten.
    package mutating func remove(_ app: AppID) {
        for vendor in vendors.keys { vendors[vendor]?.apps.remove(app) }
        vendors = vendors.filter { !$0.value.apps.isEmpty }
    }

    private static func makeID(_ random: Random) throws(RingwakeError) -> RandomID {
        guard let id = RandomID(bytes: try random(RandomID.byteCount)) else {
            throw RingwakeError(.failed, "an identifier could not be made; report this as a bug")
        }
        return id
    }
}

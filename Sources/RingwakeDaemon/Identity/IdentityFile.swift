internal import PushGateway
internal import RingwakeCore

/// `identity.json` in the state directory: who this device is, and to whom.
nonisolated struct IdentityFile: StateContents {
    /// A vendor, with its identifier of the device.
    private struct Entry: Codable {
        /// One of the two.
        var team: String?
        var prefix: String?
        var id: RandomID
        var apps: [AppID]
    }

    var schema = 1
    var check: String?
    private var device: RandomID
    private var machine: String?
    private var vendors: [Entry]

    /// More than ``DeviceIdentity/maximumPairs`` need: each at most 200 bytes of the app, 200 of the vendor, and the UUID.
    private static let maximumBytes = 8 << 20

    static func file(in directory: String) -> StateFile<IdentityFile> {
        StateFile(
            name: "identity.json", directory: directory, maximumSize: maximumBytes,
            loss: "this device would get another identity")
    }

    init(_ identity: DeviceIdentity) {
        (device, machine) = (identity.device, identity.machine)
        vendors = identity.inOrder.map { vendor, entry in
            let apps = entry.apps.sorted { $0.rawValue < $1.rawValue }
            return switch vendor {
            case .team(let id): Entry(team: id, id: entry.id, apps: apps)
            case .prefix(let parts): Entry(prefix: parts, id: entry.id, apps: apps)
            }
        }
    }

    /// What the file says.
    func identity() throws(RingwakeError) -> DeviceIdentity {
        var known: [Vendor: DeviceIdentity.Entry] = [:]
        for entry in vendors {
            let vendor: Vendor
            switch (entry.team, entry.prefix) {
            case (let id?, nil): vendor = .team(id)
            case (nil, let parts?): vendor = .prefix(parts)
            default: throw RingwakeError(.system, "\(entry.id) is of no vendor, or of two")
            }
            guard known.updateValue(.init(id: entry.id, apps: Set(entry.apps)), forKey: vendor) == nil else {
                throw RingwakeError(.system, "\(vendor) is there twice")
            }
        }
        return DeviceIdentity(device: device, machine: machine, vendors: known)
    }
}

extension DeviceIdentity {
    /// The vendors by name, teams first.
    nonisolated var inOrder: [(vendor: Vendor, entry: Entry)] {
        vendors.map { ($0.key, $0.value) }.sorted { left, right in
            switch (left.vendor, right.vendor) {
            case (.team(let left), .team(let right)): left < right
            case (.prefix(let left), .prefix(let right)): left < right
            case (.team, .prefix): true
            case (.prefix, .team): false
            }
        }
    }
}

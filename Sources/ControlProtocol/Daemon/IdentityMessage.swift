/// The identity of the device, for its owner.
package struct IdentityMessage: Codable, Equatable, Sendable {
    /// What a vendor of apps knows the device by. It has a team or a prefix.
    package struct Vendor: Codable, Equatable, Sendable {
        /// The team that sells the apps.
        package var team: String?
        /// The first two parts of the bundle ids of apps without a team.
        package var prefix: String?
        /// A UUID of version 4.
        package var vendorIdentifier: String
        /// The apps that have had it and were not removed.
        package var apps: [String]

        package init(team: String? = nil, prefix: String? = nil, vendorIdentifier: String, apps: [String]) {
            self.team = team
            self.prefix = prefix
            self.vendorIdentifier = vendorIdentifier
            self.apps = apps
        }
    }

    package var schema = ControlAPI.schema
    /// Names this installation: a UUID of version 4.
    package var device: String
    /// `same`; `other`: the identity was made on another machine; `unknown`: the machine has no id.
    package var machine: String
    /// The vendors, teams first.
    package var vendors: [Vendor]

    package init(device: String, machine: String, vendors: [Vendor]) {
        self.device = device
        self.machine = machine
        self.vendors = vendors
    }
}

/// What a reset of the identity leaves as it is.
package struct IdentityReset: Codable, Equatable, Sendable {
    /// Whether the apps keep their device tokens; nil: they get new ones.
    package var keepTokens: Bool?

    package init(keepTokens: Bool? = nil) {
        self.keepTokens = keepTokens
    }
}

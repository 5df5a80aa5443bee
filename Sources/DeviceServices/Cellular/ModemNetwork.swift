internal import DBus

/// The network that a modem is in.
package nonisolated struct ModemNetwork: Hashable, Sendable {
    /// Whether the network has taken the modem.
    package enum Registration: String, Sendable, CaseIterable {
        case unknown, notRegistered, searching, denied, emergencyOnly, home, roaming

        /// - Parameter number: MMModem3gppRegistrationState.
        init(number: UInt32) {
            switch number {
            case 0: self = .notRegistered
            // Also for SMS only, and where calls don't fall back to circuits.
            case 1, 6, 9: self = .home
            case 2: self = .searching
            case 3: self = .denied
            case 5, 7, 10: self = .roaming
            // Also where it may reach restricted services only (RLOS).
            case 8, 11: self = .emergencyOnly
            default: self = .unknown
            }
        }
    }

    /// The last part of the modem's path: it stays while the modem is there.
    package let id: String
    /// Untrusted text, at most ``maximumNameCharacters``; nil: unknown.
    package var operatorName: String?
    /// Three digits (MCC); nil: unknown.
    package var countryCode: String?
    /// Two or three digits (MNC).
    package var networkCode: String?
    package var registration = Registration.unknown
    /// Nil: unknown, or none.
    package var technology: AccessTechnology?

    static let maximumNameCharacters = 64

    package init(id: String) {
        self.id = id
    }

    /// Takes the properties of ModemManager's interface Modem that are there.
    mutating func take(modem properties: DBusValue) {
        guard let mask = properties["AccessTechnologies"] else { return }
        technology = mask.integer(as: UInt32.self).flatMap { AccessTechnology(mask: $0) }
    }

    /// Takes the properties of Modem3gpp that are there.
    mutating func take(network properties: DBusValue) {
        if let state = properties["RegistrationState"] {
            registration = state.integer(as: UInt32.self).map { Registration(number: $0) } ?? .unknown
        }
        if let name = properties["OperatorName"] {
            let text = (name.text ?? "").unicodeScalars.prefix(Self.maximumNameCharacters)
            operatorName = text.isEmpty ? nil : String(String.UnicodeScalarView(text))
        }
        if let code = properties["OperatorCode"] { setOperator(code.text ?? "") }
    }

    /// Forgets what a network says: the modem has none any more.
    mutating func leaveNetwork() {
        self = ModemNetwork(id: id)
    }

    /// - Parameter code: MCC and MNC: 26201.
    private mutating func setOperator(_ code: String) {
        let isCode = (5...6).contains(code.utf8.count) && code.utf8.allSatisfy { (0x30...0x39).contains($0) }
        countryCode = isCode ? String(code.prefix(3)) : nil
        networkCode = isCode ? String(code.dropFirst(3)) : nil
    }
}

/// The networks of all modems, from what ModemManager says of its objects.
nonisolated struct ModemNetworks: Sendable {
    static let modem = "org.freedesktop.ModemManager1.Modem"
    static let network = "org.freedesktop.ModemManager1.Modem.Modem3gpp"
    private static let folder = "/org/freedesktop/ModemManager1/Modem/"
    /// The properties that are read. Others change all the time, as the quality of the signal does.
    static let properties: Set<String> = ["AccessTechnologies", "RegistrationState", "OperatorName", "OperatorCode"]
    private static let maximumIDBytes = 32

    private var modems: [String: ModemNetwork] = [:]

    init() {}

    /// - Parameter objects: the answer of GetManagedObjects.
    init(_ objects: DBusValue?) {
        for entry in objects?.entries ?? [] {
            if let path = entry.key.text { add(path, interfaces: entry.value) }
        }
    }

    /// All modems, by id.
    var all: [ModemNetwork] { modems.values.sorted { ($0.id.utf8.count, $0.id) < ($1.id.utf8.count, $1.id) } }

    /// An object has these interfaces; some may be known already.
    mutating func add(_ path: String, interfaces: DBusValue) {
        if let properties = interfaces[Self.modem] { insert(path, properties) }
        if let properties = interfaces[Self.network] { modems[path]?.take(network: properties) }
    }

    private mutating func insert(_ path: String, _ properties: DBusValue) {
        guard path.hasPrefix(Self.folder) else { return }
        let id = String(path.dropFirst(Self.folder.count))
        guard (1...Self.maximumIDBytes).contains(id.utf8.count), !id.contains("/"),
            modems[path] != nil || modems.count < CellularMonitor.maximumModems
        else { return }
        modems[path, default: ModemNetwork(id: id)].take(modem: properties)
    }

    mutating func remove(_ path: String, interfaces: [String]) {
        if interfaces.contains(Self.modem) {
            modems[path] = nil
        } else if interfaces.contains(Self.network) {
            modems[path]?.leaveNetwork()
        }
    }

    mutating func change(_ path: String, _ interface: String, _ properties: DBusValue) {
        switch interface {
        case Self.modem: modems[path]?.take(modem: properties)
        case Self.network: modems[path]?.take(network: properties)
        default: break
        }
    }
}

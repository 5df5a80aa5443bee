internal import ControlProtocol
internal import RunLoop

/// The cellular networks that the device is in: CoreTelephony's `CTTelephonyNetworkInfo`.
///
///     let telephony = TelephonyNetworkInfo(client: client)
///     for await networks in telephony.updates {
///         for network in networks.values { print(network.operatorName ?? "?", network.isRoaming) }
///     }
///
/// They come from ModemManager. Without it, and without a modem, there are none.
public final class TelephonyNetworkInfo: Sendable {
    private let client: RingwakeClient

    public init(client: RingwakeClient) {
        self.client = client
    }

    /// The network of each modem, by the modem's id: `serviceSubscriberCellularProviders` and
    /// `serviceCurrentRadioAccessTechnology`.
    ///
    /// Empty until the client has connected, and for a moment after it has connected again; while it isn't connected, what
    /// the daemon said last.
    public var networks: [String: CellularNetwork] { client.state.telephony.value ?? [:] }

    /// The current networks, and each change: `serviceSubscriberCellularProvidersDidUpdateNotifier` and
    /// `CTServiceRadioAccessTechnologyDidChange`. A slow reader gets only the newest. The stream ends with the client,
    /// which lives as long as the stream is read.
    public var updates: AsyncStream<[String: CellularNetwork]> {
        client.state.telephony.stream(holding: client) { notifyNewObservers() }
    }

    /// Calls `body` with the current networks and with each change, on the client's thread. It must not block.
    @discardableResult
    public func observe(_ body: @escaping @Sendable ([String: CellularNetwork]) -> Void) -> Observation {
        let number = client.state.telephony.add(.init(body: body))
        if number != nil { notifyNewObservers() }
        return Observation { [state = client.state] in if let number { state.telephony.remove(number) } }
    }

    private func notifyNewObservers() {
        client.queue.post { [state = client.state] _ in state.telephony.notifyNew() }
    }
}

/// The network that a modem is in.
public struct CellularNetwork: Identifiable, Hashable, Sendable {
    /// Whether the network has taken the modem.
    public struct Registration: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let home = Registration(rawValue: "home")
        /// In the network of another operator.
        public static let roaming = Registration(rawValue: "roaming")
        public static let searching = Registration(rawValue: "searching")
        public static let denied = Registration(rawValue: "denied")
        public static let emergencyOnly = Registration(rawValue: "emergencyOnly")
        public static let notRegistered = Registration(rawValue: "notRegistered")
        public static let unknown = Registration(rawValue: "unknown")
    }

    /// How a modem is connected: the constants `CTRadioAccessTechnology...`, and some more.
    public struct RadioAccessTechnology: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let gsm = RadioAccessTechnology(rawValue: "gsm")
        public static let gprs = RadioAccessTechnology(rawValue: "gprs")
        public static let edge = RadioAccessTechnology(rawValue: "edge")
        public static let wcdma = RadioAccessTechnology(rawValue: "wcdma")
        public static let hsdpa = RadioAccessTechnology(rawValue: "hsdpa")
        public static let hsupa = RadioAccessTechnology(rawValue: "hsupa")
        /// HSDPA and HSUPA.
        public static let hspa = RadioAccessTechnology(rawValue: "hspa")
        public static let hspaPlus = RadioAccessTechnology(rawValue: "hspaPlus")
        public static let cdma1x = RadioAccessTechnology(rawValue: "cdma1x")
        public static let evdoRev0 = RadioAccessTechnology(rawValue: "evdoRev0")
        public static let evdoRevA = RadioAccessTechnology(rawValue: "evdoRevA")
        public static let evdoRevB = RadioAccessTechnology(rawValue: "evdoRevB")
        public static let nbIoT = RadioAccessTechnology(rawValue: "nbIoT")
        public static let lteM = RadioAccessTechnology(rawValue: "lteM")
        public static let lte = RadioAccessTechnology(rawValue: "lte")
        /// 5G beside LTE.
        public static let nrNSA = RadioAccessTechnology(rawValue: "nrNSA")
        public static let nr = RadioAccessTechnology(rawValue: "nr")
    }

    /// Identifies the modem while it is there.
    public var id: String
    /// The operator of the network: `CTCarrier.carrierName`. Untrusted text.
    public var operatorName: String?
    /// Three digits: `CTCarrier.mobileCountryCode`.
    public var mobileCountryCode: String?
    /// Two or three digits: `CTCarrier.mobileNetworkCode`.
    public var mobileNetworkCode: String?
    public var registration: Registration
    /// Whether the modem is in the network of another operator than its own.
    public var isRoaming: Bool { registration == .roaming }
    /// How the modem is connected; nil: it isn't, or nobody knows.
    public var radioAccessTechnology: RadioAccessTechnology?

    public init(
        id: String, operatorName: String? = nil, mobileCountryCode: String? = nil, mobileNetworkCode: String? = nil,
        registration: Registration = .home, radioAccessTechnology: RadioAccessTechnology? = nil
    ) {
        self.id = id
        self.operatorName = operatorName
        self.mobileCountryCode = mobileCountryCode
        self.mobileNetworkCode = mobileNetworkCode
        self.registration = registration
        self.radioAccessTechnology = radioAccessTechnology
    }

    init(_ modem: TelephonyMessage.Modem) {
        self.init(
            id: modem.id, operatorName: modem.operatorName, mobileCountryCode: modem.mobileCountryCode,
            mobileNetworkCode: modem.mobileNetworkCode, registration: Registration(rawValue: modem.registration),
            radioAccessTechnology: modem.radioAccessTechnology.map { RadioAccessTechnology(rawValue: $0) })
    }
}

/// The cellular networks of the device, one for each modem.
package struct TelephonyMessage: Codable, Equatable, Sendable {
    package struct Modem: Codable, Equatable, Sendable {
        /// Identifies the modem while it is there.
        package var id: String
        /// Untrusted text.
        package var operatorName: String?
        /// Three digits (MCC).
        package var mobileCountryCode: String?
        /// Two or three digits (MNC).
        package var mobileNetworkCode: String?
        /// `home`, `roaming`, `searching`, `denied`, `emergencyOnly`, `notRegistered` or `unknown`.
        package var registration: String
        /// Whether it is in the network of another operator than its own.
        package var roaming: Bool
        /// How it is connected: `lte`; `Documentation/control-api.yaml` has the words. Nil: it isn't, or nobody knows.
        package var radioAccessTechnology: String?

        package init(
            id: String, operatorName: String? = nil, mobileCountryCode: String? = nil, mobileNetworkCode: String? = nil,
            registration: String = "unknown", roaming: Bool = false, radioAccessTechnology: String? = nil
        ) {
            self.id = id
            self.operatorName = operatorName
            self.mobileCountryCode = mobileCountryCode
            self.mobileNetworkCode = mobileNetworkCode
            self.registration = registration
            self.roaming = roaming
            self.radioAccessTechnology = radioAccessTechnology
        }
    }

    package var schema = ControlAPI.schema
    /// Empty if there is no modem.
    package var modems: [Modem]

    package init(modems: [Modem]) {
        self.modems = modems
    }
}

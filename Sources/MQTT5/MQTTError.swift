/// Why a peer's bytes aren't an acceptable packet.
package struct MQTTError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Reason code for the CONNACK or DISCONNECT that is sent before closing: 0x81, 0x82, 0x84, 0x94 or 0x95.
    package let reason: MQTTReason
    /// What is wrong, as one line for people. It contains nothing that the peer wrote except numbers.
    package let text: String

    package init(reason: MQTTReason, text: String) {
        self.reason = reason
        self.text = text
    }

    package var description: String { text }

    /// The packet can't be read according to the standard.
    static func malformed(_ text: String) -> MQTTError {
        MQTTError(reason: .malformedPacket, text: text)
    }

    /// The packet can be read, but contains what the standard doesn't allow.
    static func protocolError(_ text: String) -> MQTTError {
        MQTTError(reason: .protocolError, text: text)
    }
}

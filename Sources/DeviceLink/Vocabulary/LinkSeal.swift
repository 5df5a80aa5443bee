internal import MQTT5
package import RingwakeCore

/// What a sealed payload is bound to (RFC 9180, base mode): its device and the properties that stay outside.
package enum LinkSeal {
    private static let label = "ringwake seal 1"

    /// HPKE's `info`.
    package static func info(_ device: DeviceID) -> [UInt8] { Array(label.utf8) + Array(device.rawValue.utf8) }

    /// HPKE's `aad`: the user properties of the push in the order in which they are sent, each as MQTT's pair of UTF-8
    /// strings with their lengths. `floor`, `arrived` and `expired` are left out: they change while a push waits.
    package static func additionalData(of push: LinkPush) -> [UInt8] {
        let changing = [LinkPush.Name.floor, LinkPush.Name.arrivedBoot, LinkPush.Name.notice]
        return push.properties(floor: nil).filter { !changing.contains($0.name) }.reduce(into: []) { bytes, property in
            for text in [property.name, property.value] {
                bytes += [UInt8(truncatingIfNeeded: text.utf8.count >> 8), UInt8(truncatingIfNeeded: text.utf8.count)]
                bytes += text.utf8
            }
        }
    }
}

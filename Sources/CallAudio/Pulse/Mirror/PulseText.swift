internal import CRingwakePulse
internal import Glibc

/// Texts and properties of libpulse. What they say was written by any program that plays sound: it may be missing, no
/// UTF-8, and of any length.
enum PulseText {
    /// Texts are cut here.
    static let maximumBytes = 1_024

    /// Nil where there is none. What is no UTF-8 is replaced by U+FFFD.
    static func string(_ text: UnsafePointer<CChar>?) -> String? {
        guard let text else { return nil }
        let length = strnlen(text, maximumBytes + 1)
        return text.withMemoryRebound(to: UInt8.self, capacity: length) { bytes in
            var end = min(length, maximumBytes)
            // Not in the middle of a character.
            if length > maximumBytes { while end > 0, bytes[end] & 0xc0 == 0x80 { end -= 1 } }
            return String(decoding: UnsafeBufferPointer(start: bytes, count: end), as: UTF8.self)
        }
    }

    /// The same, and nil where it is empty.
    static func name(_ text: UnsafePointer<CChar>?) -> String? {
        string(text).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Those of these properties that are there.
    static func properties(_ list: OpaquePointer?, _ keys: [String]) -> [String: String] {
        guard let list else { return [:] }
        var properties: [String: String] = [:]
        for key in keys {
            if let value = string(pa_proplist_gets(list, key)) { properties[key] = value }
        }
        return properties
    }

    /// Of a card, a sink or a source: what tells what it is.
    static let deviceKeys = [
        "api.bluez5.address", "api.bluez5.codec", "api.bluez5.profile", "bluetooth.codec", "bluetooth.protocol",
        "device.api", "device.bus", "device.class", "device.description", "device.form_factor", "device.icon_name",
        "device.intended_roles", "device.product.name", "device.profile.name", "device.string", "device.vendor.name",
        "media.class", "node.name", "node.virtual",
    ]

    /// Of a client: what tells whose it is.
    static let clientKeys = ["application.process.id", "pipewire.sec.pid"]

    /// Of a stream: what tells whose it is and what for.
    static let streamKeys = [
        "application.id", "application.name", "application.process.binary", "application.process.id",
        "application.process.user", "device.master_device", "media.class", "media.name", "media.role",
        "module-stream-restore.id", "node.link-group", "node.name", "pipewire.access.portal.app_id", "target.object",
    ]
}

internal import CRingwakePulse
internal import Glibc

/// Reads texts and properties of libpulse. Any program that plays sound may have written them: they may be missing,
/// invalid UTF-8, and of any length.
enum PulseText {
    /// Maximum bytes of a text; longer texts are cut.
    static let maximumBytes = 1_024

    /// Nil if there is none. Invalid UTF-8 is replaced by U+FFFD.
    static func string(_ text: UnsafePointer<CChar>?) -> String? {
        guard let text else { return nil }
        let length = strnlen(text, maximumBytes + 1)
        return text.withMemoryRebound(to: UInt8.self, capacity: length) { bytes in
            var end = min(length, maximumBytes)
            // Don't cut in the middle of a character.
            if length > maximumBytes { while end > 0, bytes[end] & 0xc0 == 0x80 { end -= 1 } }
            return String(decoding: UnsafeBufferPointer(start: bytes, count: end), as: UTF8.self)
        }
    }

    /// The same, but nil if it is empty.
    static func name(_ text: UnsafePointer<CChar>?) -> String? {
        string(text).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Those of these properties that exist.
    static func properties(_ list: OpaquePointer?, _ keys: [String]) -> [String: String] {
        guard let list else { return [:] }
        var properties: [String: String] = [:]
        for key in keys {
            if let value = string(pa_proplist_gets(list, key)) { properties[key] = value }
        }
        return properties
    }

    /// The properties that classify a card, a sink or a source.
    static let deviceKeys = [
        "api.bluez5.address", "api.bluez5.codec", "api.bluez5.profile", "bluetooth.codec", "bluetooth.protocol",
        "device.api", "device.bus", "device.class", "device.description", "device.form_factor", "device.icon_name",
        "device.intended_roles", "device.product.name", "device.profile.name", "device.string", "device.vendor.name",
        "media.class", "node.name", "node.virtual",
    ]

    /// The properties that identify the process of a client.
    static let clientKeys = ["application.process.id", "pipewire.sec.pid"]

    /// The properties that identify the owner and the purpose of a stream.
    static let streamKeys = [
        "application.id", "application.name", "application.process.binary", "application.process.id",
        "application.process.user", "device.master_device", "media.class", "media.name", "media.role",
        "module-stream-restore.id", "node.link-group", "node.name", "pipewire.access.portal.app_id", "target.object",
    ]
}

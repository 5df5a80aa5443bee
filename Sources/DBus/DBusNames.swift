import CRingwakeSystemd

/// What the D-Bus Specification calls valid names ("Valid Names", "Valid Object Paths").
package enum DBusNames {
    /// A well-known name (`org.freedesktop.login1`) or a unique one (`:1.42`).
    package static func isBusName(_ text: String) -> Bool {
        isClean(text) && sd_bus_service_name_is_valid(text) > 0
    }

    package static func isObjectPath(_ text: String) -> Bool {
        isClean(text) && sd_bus_object_path_is_valid(text) > 0
    }

    package static func isInterface(_ text: String) -> Bool {
        isClean(text) && sd_bus_interface_name_is_valid(text) > 0
    }

    package static func isMember(_ text: String) -> Bool {
        isClean(text) && sd_bus_member_name_is_valid(text) > 0
    }

    /// Any text as one element of an object path, as systemd writes it: every byte but letters and digits becomes `_`
    /// and two hex digits, a leading digit too; the empty text is `_`. See sd_bus_path_encode(3).
    package static func pathElement(_ text: String) -> String {
        if text.isEmpty { return "_" }
        var element = ""
        for (index, byte) in text.utf8.enumerated() {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
                element.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: "0")...UInt8(ascii: "9") where index > 0:
                element.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16)
                element += digits.count == 1 ? "_0" + digits : "_" + digits
            }
        }
        return element
    }

    static func check(_ text: String, isValid: (String) -> Bool, _ what: String) throws(DBusError) {
        guard isValid(text) else {
            throw DBusError(name: DBusError.invalidArguments, message: "\"\(text)\" is not a valid \(what)")
        }
    }

    /// A C function sees only what stands before a NUL.
    private static func isClean(_ text: String) -> Bool { !text.utf8.contains(0) }
}

internal import RingwakeCore

/// Names of systemd's units (systemd.unit(5), "String Escaping for Inclusion in Unit Names").
nonisolated enum UnitName {
    /// UNIT_NAME_MAX of systemd, without the NUL.
    static let maximumBytes = 255
    /// A handler is a process, so only services are accepted.
    static let suffix = ".service"

    /// Whether it is the name of a service or of a service template (`phone@.service`).
    static func isValid(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard bytes.count <= maximumBytes, name.hasSuffix(suffix), bytes.count > suffix.utf8.count else { return false }
        return bytes.first != UInt8(ascii: "@") && bytes.allSatisfy { isAllowed($0) || $0 == UInt8(ascii: "@") }
            && bytes.count { $0 == UInt8(ascii: "@") } <= 1
    }

    /// Whether the name needs an instance.
    static func isTemplate(_ name: String) -> Bool { name.hasSuffix("@" + suffix) }

    /// The unit for a call. For a template it is the instance of the call's ID, escaped as by `systemd-escape`.
    ///
    /// If the name would be too long, the instance is cut and ends in a dot and a checksum of the whole ID.
    static func unit(of name: String, for call: CallID) -> String {
        guard isTemplate(name) else { return name }
        let prefix = String(name.dropLast(suffix.count))
        let instance = escaped(Array(call.rawValue.utf8), upTo: maximumBytes - prefix.utf8.count - suffix.utf8.count)
        return prefix + instance + suffix
    }

    /// The transient unit of one wake. The time makes the name different from those of other runs of the daemon.
    static func transient(app: AppID, wake: WakeID, at now: BootInstant) -> String {
        let tail = "-\(wake.number)-\(String(now.nanoseconds, radix: 36))\(suffix)"
        let head = "ringwake-"
        let room = maximumBytes - head.utf8.count - tail.utf8.count
        return head + escaped(Array(app.rawValue.utf8), upTo: room, keepsHyphen: true) + tail
    }

    /// `unit_name_escape` of systemd: `/` becomes `-`. Characters that a name can't contain become `\xXX`; so do `-`, a
    /// backslash and a leading dot.
    /// - Parameter keepsHyphen: for a name that is never unescaped.
    static func escaped(_ bytes: [UInt8], upTo limit: Int, keepsHyphen: Bool = false) -> String {
        var text: [UInt8] = []
        var cutAt = 0
        let ending = "." + String(checksum(bytes), radix: 16)
        for (index, byte) in bytes.enumerated() {
            let isSpecial = byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "-") && !keepsHyphen
            if byte == UInt8(ascii: "/") {
                text.append(UInt8(ascii: "-"))
            } else if isSpecial || !isAllowed(byte) || index == 0 && byte == UInt8(ascii: ".") {
                let digits = String(byte, radix: 16)
                text += "\\x\(digits.utf8.count == 1 ? "0" : "")\(digits)".utf8
            } else {
                text.append(byte)
            }
            if text.count <= limit - ending.utf8.count { cutAt = text.count }
            if text.count > limit { return String(decoding: text[..<cutAt], as: UTF8.self) + ending }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isNameByte || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "\\")
    }

    /// FNV-1a, 64 bits. If two call IDs of an app had the same checksum, they would share a unit, and the app would get
    /// both calls.
    private static func checksum(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

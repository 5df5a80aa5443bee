internal import Cryptography
internal import FileSystem
internal import RingwakeCore

/// The machine that the daemon runs on, as machine-id(5) names it.
nonisolated enum MachineID {
    /// Which application the machine's id is hashed for, as `sd_id128_get_machine_app_specific(3)` wants it: the id itself is
    /// confidential, and two applications must not be able to compare theirs.
    private static let application: [UInt8] = [
        0x52, 0x9d, 0xb7, 0x1e, 0x0c, 0x64, 0x4a, 0x2f, 0x93, 0x58, 0xe1, 0x7b, 0x2a, 0xcd, 0x06, 0x4f,
    ]
    private static let bytes = 16

    /// HMAC-SHA256 of ``application`` with the machine's id as the key, in hex. Nil if the machine has no id.
    static func hash(file: String = "/etc/machine-id") -> String? {
        guard let text = try? FileSystem.read(file, maximumSize: 64),
            let id = decodeHex(Array(text.prefix { $0 != UInt8(ascii: "\n") })), id.count == bytes,
            let code = try? HMACSHA256.code(of: application, key: id)
        else { return nil }
        return encodeHex(code)
    }
}

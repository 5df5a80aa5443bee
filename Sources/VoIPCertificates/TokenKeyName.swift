import Cryptography
import RingwakeCore

/// The file names of provider token keys, like Apple's: `AuthKey_ABC123DEFG.p8`, with the key id in the middle.
package enum TokenKeyName {
    private static let prefix = "AuthKey_"
    private static let privateSuffix = ".p8"
    private static let publicSuffix = ".pub.pem"
    private static let idLength = 10
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8)

    static func privateName(keyID: String) -> String {
        prefix + keyID + privateSuffix
    }

    static func publicName(keyID: String) -> String {
        prefix + keyID + publicSuffix
    }

    /// A new key id: ten random upper-case letters and digits.
    static func makeKeyID() throws(RingwakeError) -> String {
        // Bytes from here on would make some characters likelier than others.
        let limit = 256 / alphabet.count * alphabet.count
        var id: [UInt8] = []
        while id.count < idLength {
            for byte in try SecureRandom.bytes(idLength) where Int(byte) < limit && id.count < idLength {
                id.append(alphabet[Int(byte) % alphabet.count])
            }
        }
        return String(decoding: id, as: UTF8.self)
    }

    /// The key id in a file name, with or without a path; `nil` for another name.
    static func keyID(inFileName name: String) -> String? {
        let last = name.split(separator: "/").last ?? ""
        guard last.hasPrefix(prefix), let suffix = [privateSuffix, publicSuffix].first(where: last.hasSuffix),
            last.utf8.count > prefix.utf8.count + suffix.utf8.count
        else { return nil }
        let id = last.dropFirst(prefix.count).dropLast(suffix.count)
        return isKeyID(id) ? String(id) : nil
    }

    /// Whether it could be a key id of Apple's: 10 upper-case letters and digits.
    package static func isKeyID(_ id: some StringProtocol) -> Bool {
        id.utf8.count == idLength && id.utf8.allSatisfy(alphabet.contains)
    }
}

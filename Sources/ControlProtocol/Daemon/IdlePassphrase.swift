/// The line in which `ringwake` passes the passphrase of protected records to `ringwaked --store`: `passphrase`, and after a
/// blank the passphrase if there is one.
package enum IdlePassphrase {
    private static let word = Array("passphrase".utf8)
    /// Bytes of the line besides the passphrase, without its end.
    package static let overhead = word.count + 1

    /// The line, with its end.
    package static func line(_ passphrase: [UInt8]?) -> [UInt8] {
        word + (passphrase.map { [UInt8(ascii: " ")] + $0 } ?? []) + [UInt8(ascii: "\n")]
    }

    /// The passphrase in a line without its end; nil if there is none.
    package static func passphrase(in line: [UInt8]) -> [UInt8]? {
        line.count > overhead && line.starts(with: word) ? Array(line.dropFirst(overhead)) : nil
    }
}

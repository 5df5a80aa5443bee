/// What scrypt costs (RFC 7914 section 2). Only values within bounds exist, because they may come from a file.
package struct ScryptParameters: Hashable, Sendable {
    /// Maximum memory of a derivation, in bytes: a small gateway has it.
    package static let maximumMemoryBytes = 256 << 20
    /// What scrypt needs beside its table.
    static let overheadBytes = 1 << 20
    /// Maximum work (n * r * p): eight times that of ``standard``, some seconds.
    private static let maximumWork = 1 << 23

    /// The cost, a power of two.
    package let n: Int
    /// The block size, in units of 128 bytes.
    package let r: Int
    /// How often the whole is done.
    package let p: Int

    /// 128 MB, and less than a second on a desktop computer.
    package static let standard = ScryptParameters(unchecked: 1 << 17, 8, 1)

    /// Nil if a value is out of bounds, or together they need more than ``maximumMemoryBytes`` or take too long.
    package init?(n: Int, r: Int, p: Int) {
        guard n > 1, n <= Self.maximumWork, n & (n - 1) == 0, (1...64).contains(r), (1...16).contains(p),
            128 * n * r <= Self.maximumMemoryBytes, n * r * p <= Self.maximumWork
        else { return nil }
        self.init(unchecked: n, r, p)
    }

    private init(unchecked n: Int, _ r: Int, _ p: Int) {
        self.n = n
        self.r = r
        self.p = p
    }
}

/// The standard file name of a backup: `ringwake-2026-11-27T180000Z.tar.zst`. Without colons, so that a USB stick takes it.
package struct BackupName: Hashable, Sendable, Comparable, CustomStringConvertible {
    private static let prefix = "ringwake-"
    package static let suffix = ".tar.zst"

    /// When the backup was made.
    package let time: BackupTime

    package init(_ time: BackupTime) {
        self.time = time
    }

    /// Nil if the name is none of ours.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), text.hasSuffix(Self.suffix) else { return nil }
        // The colons are put back: 2026-11-27T18 00 00Z.
        let digits = text.dropFirst(Self.prefix.count).dropLast(Self.suffix.count)
        let (hour, rest) = (digits.prefix(13), digits.dropFirst(13))
        guard let time = BackupTime("\(hour):\(rest.prefix(2)):\(rest.dropFirst(2))") else { return nil }
        self.init(time)
    }

    package var description: String {
        Self.prefix + time.description.filter { $0 != ":" } + Self.suffix
    }

    package static func < (one: BackupName, other: BackupName) -> Bool { one.time < other.time }

    /// The backups to remove, so that `count` are kept: the oldest. Names that aren't ours are passed over.
    ///
    /// - Parameters:
    ///   - count: at least one is kept, the newest.
    ///   - new: the backup that was just made, which is kept although a wrong clock may have made it the oldest.
    ///   - keyed: those that have private keys. The newest of them is kept, beyond the count: later ones without keys, as a
    ///     schedule makes when its passphrase is gone, can't take its place.
    package static func expired(
        _ names: [String], keeping count: Int, new: BackupName? = nil, keyed: Set<String> = []
    ) -> [BackupName] {
        let backups = Set(names.compactMap { BackupName($0) }).sorted()
        let lastKeyed = keyed.compactMap { BackupName($0) }.max()
        return backups.dropLast(max(1, count)).filter { $0 != new && $0 != lastKeyed }
    }
}

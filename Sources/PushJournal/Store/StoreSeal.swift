internal import CRingwakeLinux
internal import Glibc

/// How far a store was committed. Grows with each commit: an epoch is the time between two moves of the log into the
/// store, and within it the log grows.
nonisolated struct StorePosition: Hashable {
    /// The store's random number.
    var store: Int64
    var epoch: Int64
    /// Pages in the log; 0 when all is in the store.
    var logPages: Int64
    /// The number of the newest push.
    var newestPush: Int64

    /// The same, with all of the log in the store.
    var withoutLog: StorePosition {
        StorePosition(store: store, epoch: epoch, logPages: 0, newestPush: newestPush)
    }

    /// Whether something that was committed up to `other` is missing here.
    func lacks(_ other: StorePosition) -> Bool {
        store != other.store || (epoch, logPages) < (other.epoch, other.logPages)
    }
}

/// The last commit as noted outside the store, in `store.seal`.
///
/// It is written after each commit, and not synced: the kernel writes it to disk sometime. So it may lag behind the
/// store after a power cut, but it never leads. It is synced before the log that it may count is removed. A store that
/// lacks what its seal says has lost committed data: its log was removed or cut, a former copy was put back, or a disk
/// confirmed what it had not written. Without the file, or with a damaged one, nothing is known, and nothing is
/// reported.
nonisolated final class StoreSeal {
    static let name = "store.seal"
    /// Less than a sector, so that a disk writes all of it or nothing.
    private static let bytes = 192

    /// The contents.
    struct Contents: Hashable {
        var position: StorePosition
        /// Of the store's file, so that a start knows whether somebody else wrote to it.
        var stamp: StoreFile.Stamp
    }

    /// -1 if the file can't be opened: the store works without it.
    private let descriptor: Int32

    init(inDirectory directory: String) {
        descriptor = ringwake_open("\(directory)/\(Self.name)", O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// What the last commit of a former run left; nil if there is nothing readable.
    func read() -> Contents? {
        var buffer = [UInt8](repeating: 0, count: Self.bytes)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        let words = String(decoding: buffer[..<count], as: UTF8.self).split { $0 == " " || $0 == "\n" }
        let numbers = words.compactMap { Int64($0) }
        guard numbers.count == 7, words.count == 8, words[7] == Self.sum(of: numbers), numbers[3] >= 0 else {
            return nil
        }
        return Contents(
            position: StorePosition(
                store: numbers[0], epoch: numbers[1], logPages: numbers[2], newestPush: numbers[3]),
            stamp: StoreFile.Stamp(size: numbers[4], seconds: numbers[5], nanoseconds: numbers[6]))
    }

    /// Notes a commit. A failure is ignored: the seal then lags.
    /// - Parameter isDurable: whether it must not lag after a power cut, because the log that it counts is removed.
    func write(_ contents: Contents, isDurable: Bool = false) {
        let (position, stamp) = (contents.position, contents.stamp)
        let numbers = [
            position.store, position.epoch, position.logPages, position.newestPush, stamp.size, stamp.seconds,
            stamp.nanoseconds,
        ]
        var line = Array((numbers.map(String.init) + [Self.sum(of: numbers)]).joined(separator: " ").utf8)
        line += [UInt8](repeating: UInt8(ascii: " "), count: max(0, Self.bytes - 1 - line.count))
        line.append(UInt8(ascii: "\n"))
        _ = pwrite(descriptor, line, line.count, 0)
        if isDurable { fdatasync(descriptor) }
    }

    /// Syncs what was written last to disk. Call it before a log is removed or cut: after a power cut, a former seal that
    /// counts the log's pages would say that they are lost.
    /// - Returns: false if it may not be on the disk.
    func makeDurable() -> Bool { descriptor < 0 || fdatasync(descriptor) == 0 }

    /// FNV-1a. It finds damage; nobody is kept from writing another seal.
    private static func sum(of numbers: [Int64]) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for number in numbers {
            withUnsafeBytes(of: number.littleEndian) {
                for byte in $0 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            }
        }
        return "x" + String(hash, radix: 16)
    }
}

import BackupArchive
import CRingwakeLinux
import Glibc
import RingwakeCore

/// A backup, which may come from anybody. An input is the file, or the tar in it: a fuzzer doesn't find its way through zstd.
enum BackupHarness {
    static let archive = Harness("backup", maximumBytes: 16_384) { input in
        let file = memfd_create("backup", 0)
        try require(file >= 0, "no memory for a file")
        defer { close(file) }
        let bytes = input.starts(with: magic) ? input : frame(input)
        try require(write(file, bytes, bytes.count) == bytes.count, "a short write")
        let reader = ArchiveReader("/proc/self/fd/\(file)")
        guard let verified = try? reader.verify() else { return false }
        try requireEqual(try reader.manifest(), verified, "the manifest alone is another one")
        let names = verified.members.map(\.name)
        try requireEqual(Set(names).count, names.count, "two members of one name")
        try require(verified.totalBytes <= 1 << 30, "an input of some kilobytes has a gigabyte in it")
        return true
    }

    private static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

    /// Bytes as one frame of zstd that compresses nothing (RFC 8878 section 3.1.1): no flags, a window of 1 MB, one raw block.
    private static func frame(_ bytes: [UInt8]) -> [UInt8] {
        let block = UInt32(bytes.count) << 3 | 1
        return magic + [0x00, 0x50] + (0..<3).map { UInt8(truncatingIfNeeded: block >> (8 * UInt32($0))) } + bytes
    }
}

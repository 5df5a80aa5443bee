import BackupArchive
import FileSystem
import Glibc

@testable import Cryptography

/// A tar as nobody's tool makes it: any header, any manifest (POSIX.1-2017, pax, ustar interchange format).
struct HostileTar {
    var bytes: [UInt8] = []

    /// A member of any type, with a size that its contents need not have.
    mutating func add(
        _ name: String, _ contents: [UInt8] = [], type: Character = "0", link: String = "", size: Int? = nil
    ) {
        var header = [UInt8](repeating: 0, count: 512)
        func put(_ text: String, at offset: Int) {
            header.replaceSubrange(offset..<(offset + text.utf8.count), with: text.utf8)
        }
        func octal(_ value: Int, _ width: Int) -> String {
            let digits = String(value, radix: 8)
            return String(repeating: "0", count: width - digits.count) + digits
        }
        put(name, at: 0)
        put("0000600", at: 100)
        put("0000000", at: 108)
        put("0000000", at: 116)
        put(octal(size ?? contents.count, 11), at: 124)
        put("00000000000", at: 136)
        put("        ", at: 148)
        put(String(type), at: 156)
        put(link, at: 157)
        put("ustar\0" + "00", at: 257)
        put(octal(header.reduce(0) { $0 + Int($1) }, 6) + "\0", at: 148)
        bytes += header + contents + [UInt8](repeating: 0, count: (512 - contents.count % 512) % 512)
    }

    /// The first member: a manifest of these members.
    mutating func addManifest(_ members: [(name: String, contents: [UInt8])], version: Int = 1, keys: String = "none") {
        addManifest(Self.manifest(members.map { Self.member($0.name, $0.contents) }, version: version, keys: keys))
    }

    /// A manifest with its checksum.
    mutating func addManifest(_ manifest: [UInt8]) {
        add("manifest.json", manifest)
        add("manifest.sha256", Array("\(Self.hexadecimal(manifest))  manifest.json\n".utf8))
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        SHA256.digest(bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    static func member(_ name: String, _ contents: [UInt8], bytes: Int? = nil) -> String {
        let digest = hexadecimal(contents)
        return #"{"name":"\#(name)","bytes":\#(bytes ?? contents.count),"sha256":"\#(digest)","mode":"0600"}"#
    }

    static func manifest(_ members: [String], version: Int = 1, keys: String = "none") -> [UInt8] {
        Array(
            """
            {"format":"ringwake-backup","version":\(version),"created":"2026-11-27T18:00:00Z","program":"9","host":"h",
            "device":null,"kind":"raw","store":{"version":7,"bytes":1},"keys":"\(keys)","new":{"a":[1]},
            "members":[\(members.joined(separator: ","))]}
            """.utf8)
    }

    mutating func end() { bytes += [UInt8](repeating: 0, count: 1024) }

    /// The archive as a file.
    func compress(_ directory: TemporaryDirectory, _ name: String = "hostile") throws -> String {
        let tar = try directory.write("\(name).tar", bytes)
        try run("zstd", "-q", "-c", tar, output: directory.path(name))
        return directory.path(name)
    }
}

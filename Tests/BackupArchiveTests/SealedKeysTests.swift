import BackupArchive
import Cryptography
import FileSystem
import FoundationEssentials
import Glibc
import RingwakeCore
import Testing

@Suite struct SealedKeysTests {
    @Test("A wrong passphrase has an error of its own, and unpacks nothing")
    func wrongPassphrase() throws {
        let sample = try Sample()
        try sample.write()
        for text in ["correct horsf", "correct hors", "x"] {
            #expect(try failure { try sample.reader.verify(passphrase: try passphrase(text)) }.code == .badCredential)
            let error = try failure {
                _ = try sample.reader.unpack(into: sample.directory.path("new"), passphrase: try passphrase(text))
            }
            #expect(error.code == .badCredential)
            #expect(error.message.contains("passphrase"))
            #expect(!FileSystem.exists(sample.directory.path("new")))
        }
    }

    @Test("The archive has neither the keys nor the passphrase in it, and no salt or nonce occurs twice")
    func secrecy() throws {
        let sample = try Sample()
        var headings: Set<String> = []
        for _ in 0..<3 {
            try sample.write()
            let tar = sample.directory.path("tar")
            try run("zstd", "-q", "-d", "-f", "-c", sample.target, output: tar)
            let text = String(decoding: try sample.directory.read("tar"), as: UTF8.self)
            for secret in ["secret", "another", "correct horse", "identity.key", "c2VjcmV0"] {
                #expect(!text.contains(secret), "\(secret)")
            }
            let heading = try #require(text.split(separator: "\n").first { $0.contains("\"kdf\"") })
            headings.insert(String(heading.drop { $0 != "{" }))
            try FileSystem.remove(sample.target)
        }
        #expect(headings.count == 3)
    }

    @Test("Keys can't be moved to another backup")
    func moved() throws {
        let (one, other) = (try Sample(), try Sample(storeBytes: 4999))
        try one.write()
        try other.write()
        let folder = other.directory.path("mixed")
        try FileSystem.createDirectory(folder, mode: 0o700)
        try run("tar", "-C", folder, "--zstd", "-xf", one.target, "keys.sealed")
        try FileSystem.move(folder + "/keys.sealed", to: folder + "/foreign")
        try run("tar", "-C", folder, "--zstd", "-xf", other.target)
        try FileSystem.move(folder + "/foreign", to: folder + "/keys.sealed")
        let archive = try repack(folder, other)
        let reader = ArchiveReader(archive)
        try reader.verify()
        #expect(try failure { try reader.verify(passphrase: try passphrase("correct horse")) }.code == .badCredential)
        _ = one
    }

    @Test("Keys don't open beside a file that was replaced together with its checksum")
    func changedMember() throws {
        let sample = try Sample()
        try sample.write()
        let folder = sample.directory.path("changed")
        try FileSystem.createDirectory(folder, mode: 0o700)
        try run("tar", "-C", folder, "--zstd", "-xf", sample.target)
        let unchanged = ArchiveReader(try repack(folder, sample))
        #expect(throws: Never.self) { try unchanged.verify(passphrase: try passphrase("correct horse")) }
        try FileSystem.replace(folder + "/files/1", with: [1, 2, 4], mode: 0o600)
        let reader = ArchiveReader(try repack(folder, sample))
        try reader.verify()
        #expect(try failure { try reader.verify(passphrase: try passphrase("correct horse")) }.code == .badCredential)
    }

    @Test(
        "Parameters that would use up memory or time are refused",
        arguments: [#""n":1048576"#, #""n":-16"#, #""n":15"#, #""n":9223372036854775807"#])
    func cost(parameter: String) throws {
        let sample = try Sample()
        try sample.write()
        let folder = sample.directory.path("costly")
        try FileSystem.createDirectory(folder, mode: 0o700)
        try run("tar", "-C", folder, "--zstd", "-xf", sample.target)
        let sealed = try FileSystem.read(folder + "/keys.sealed", maximumSize: 1 << 20)
        let end = try #require(sealed.firstIndex(of: UInt8(ascii: "\n")))
        let heading = String(decoding: sealed[..<end], as: UTF8.self)
        #expect(heading.contains(#""n":16"#))
        let changed = heading.replacing(#""n":16"#, with: parameter).replacing(#""r":1"#, with: #""r":8"#)
        try FileSystem.replace(folder + "/keys.sealed", with: Array(changed.utf8) + sealed[end...], mode: 0o600)
        let error = try failure {
            try ArchiveReader(try repack(folder, sample)).verify(passphrase: try passphrase("correct horse"))
        }
        #expect(error.code == .limitReached, "\(error)")
    }

    /// Packs a folder in the order of its manifest, with the checksums of its files.
    private func repack(_ folder: String, _ sample: Sample) throws -> String {
        let script = """
            import hashlib, json, os, sys, tarfile
            folder = sys.argv[1]
            manifest = json.load(open(folder + "/manifest.json"))
            for member in manifest["members"]:
                data = open(os.path.join(folder, member["name"]), "rb").read()
                member["bytes"], member["sha256"] = len(data), hashlib.sha256(data).hexdigest()
            text = json.dumps(manifest)
            open(folder + "/manifest.json", "w").write(text)
            digest = hashlib.sha256(text.encode()).hexdigest()
            open(folder + "/manifest.sha256", "w").write(digest + "  manifest.json\\n")
            with tarfile.open(sys.argv[2], "w") as archive:
                for name in ["manifest.json", "manifest.sha256"] + [member["name"] for member in manifest["members"]]:
                    archive.add(os.path.join(folder, name), name)
            """
        let tar = sample.directory.path("repacked.tar")
        try run("python3", "-c", script, folder, tar)
        try run("zstd", "-q", "-f", "-c", tar, output: sample.directory.path("repacked"))
        return sample.directory.path("repacked")
    }
}

import BackupArchive
import CRingwakeLinux
import Cryptography
import FileSystem
import Glibc
import RingwakeCore
import Testing

@Suite struct ArchiveReaderTests {
    /// An archive that must be refused by all that reads it whole, and leave nothing.
    private func refusal(_ archive: String, _ directory: TemporaryDirectory) throws -> RingwakeError {
        let before = try directory.files()
        let verified = try failure { try ArchiveReader(archive).verify(passphrase: try passphrase("correct horse")) }
        let unpacked = try failure {
            _ = try ArchiveReader(archive).unpack(
                into: directory.path("unpacked"), passphrase: try passphrase("correct horse"))
        }
        #expect(verified == unpacked)
        #expect(try directory.files() == before)
        return unpacked
    }

    @Test("A file that isn't there, or is none, or is no backup, is refused")
    func noBackup() throws {
        let directory = try TemporaryDirectory()
        #expect(try failure { _ = try ArchiveReader(directory.path("x")).manifest() }.code == .notFound)
        #expect(try failure { _ = try ArchiveReader(directory.root).manifest() }.code == .invalidRequest)
        for contents in [
            [], [1], Array("text that is no archive".utf8), [0x28, 0xB5, 0x2F, 0xFD], [0x1F, 0x8B, 8, 0],
        ] {
            let file = try directory.write("file", contents)
            #expect(try refusal(file, directory).code == .failed)
        }
        try run("tar", "-C", directory.root, "-cf", directory.path("plain.tar"), "file")
        _ = try refusal(directory.path("plain.tar"), directory)
        try run("zstd", "-q", "-c", directory.path("plain.tar"), output: directory.path("tar.zst"))
        let error = try refusal(directory.path("tar.zst"), directory)
        #expect(error.message.contains("does not begin with a manifest"))
    }

    @Test("Cut off anywhere, a backup is refused, and nothing is left")
    func truncated() throws {
        let sample = try Sample(storeBytes: 300)
        try sample.write()
        let whole = try sample.directory.read("out/backup.tar.zst")
        #expect(whole.count > 1000)
        for count in 0..<whole.count {
            let part = try sample.directory.write("part", Array(whole.prefix(count)))
            #expect(try refusal(part, sample.directory).code == .failed, "\(count)")
        }
    }

    @Test("With any byte changed, a backup is refused or is what was packed")
    func changedBytes() throws {
        let sample = try Sample(storeBytes: 300)
        let manifest = try sample.write()
        let whole = try sample.directory.read("out/backup.tar.zst")
        var accepted: [Int] = []
        for index in whole.indices {
            var bytes = whole
            bytes[index] ^= [0x01, 0x80, 0xFF][index % 3]
            let file = try sample.directory.write("changed", bytes)
            let target = sample.directory.path("unpacked")
            let words = try passphrase("correct horse")
            guard let unpacked = try? ArchiveReader(file).unpack(into: target, passphrase: words) else {
                #expect(!FileSystem.exists(target), "\(index)")
                continue
            }
            accepted.append(index)
            #expect(unpacked.manifest == manifest, "\(index)")
            for source in sample.sources + sample.keys {
                let copy = try sample.directory.read("unpacked/\(source.name)")
                #expect(try copy == FileSystem.read(source.path, maximumSize: 1 << 20), "\(index)")
            }
            try FileSystem.removeTree(target)
        }
        // The frame's header and unused fields of the tar: the contents are the same.
        #expect(accepted.count < 20, "\(accepted)")
    }

    @Test("Names, links and devices of a hostile archive lead nowhere")
    func hostileMembers() throws {
        let directory = try TemporaryDirectory()
        let good: (String, [UInt8]) = ("state/a", [1, 2, 3])
        // What follows the manifest of one good member.
        let cases: [(String, (inout HostileTar) -> Void)] = [
            ("missing", { _ in }),
            ("'/etc/x'", { $0.add("/etc/x", good.1) }),
            ("'../state/a'", { $0.add("../state/a", good.1) }),
            ("'state/b'", { $0.add("state/b", good.1) }),
            ("a link or no file", { $0.add(good.0, type: "2", link: "/etc/passwd", size: 0) }),
            ("a link or no file", { $0.add(good.0, type: "1", link: "manifest.json", size: 0) }),
            ("a link or no file", { $0.add(good.0, type: "3") }),
            ("a link or no file", { $0.add(good.0, type: "6") }),
            ("state/a", { $0.add(good.0, type: "5") }),
            ("another size", { $0.add(good.0, [1, 2]) }),
            ("another size", { $0.add(good.0, [1, 2, 3, 4]) }),
            ("another checksum", { $0.add(good.0, [1, 2, 4]) }),
            (
                "where the end should be",
                {
                    $0.add(good.0, good.1)
                    $0.add(good.0, good.1)
                }
            ),
            (
                "where the end should be",
                {
                    $0.add(good.0, good.1)
                    $0.add("x\u{1B}]0;title\u{7}", [])
                }
            ),
            (
                "where state/a should be",
                {
                    // A pax header may rename what follows.
                    $0.add("pax", Array("24 path=/tmp/../outside\n".utf8), type: "x")
                    $0.add(good.0, good.1)
                }
            ),
            (
                "damaged",
                {
                    // A sparse file: a terabyte in one block.
                    let text = Array(
                        "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n37 GNU.sparse.realsize=1099511627776\n".utf8)
                    $0.add("pax", text, type: "x")
                    $0.add(good.0, good.1)
                }
            ),
        ]
        for (index, (words, build)) in cases.enumerated() {
            var tar = HostileTar()
            tar.addManifest([good])
            build(&tar)
            tar.end()
            let error = try refusal(try tar.compress(directory, "hostile"), directory)
            #expect(error.code == .failed && error.message.contains(words), "\(index): \(error)")
            #expect(error.message.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "\(index): \(error)")
        }
    }

    @Test("Manifests that no writer makes are refused")
    func hostileManifests() throws {
        let directory = try TemporaryDirectory()
        func member(_ name: String, bytes: Int = 0) -> String { HostileTar.member(name, [], bytes: bytes) }
        let cases: [(String, [UInt8])] = [
            ("'members.0.name'", HostileTar.manifest([member("../a")])),
            ("'members.0.name'", HostileTar.manifest([member("/a")])),
            ("'members.1.name'", HostileTar.manifest([member("a"), member("b/../c")])),
            ("a occurs twice", HostileTar.manifest([member("a"), member("a")])),
            ("manifest.json occurs twice", HostileTar.manifest([member("manifest.json")])),
            ("a has -1 bytes", HostileTar.manifest([member("a", bytes: -1)])),
            ("a has 9223372036854775807 bytes", HostileTar.manifest([member("a", bytes: Int.max)])),
            ("keys", HostileTar.manifest([member("a")], keys: "encrypted")),
            ("keys", HostileTar.manifest([member("a"), member("keys.sealed")], keys: "encrypted")),
            ("manifest.sha256 occurs twice", HostileTar.manifest([member("manifest.sha256")])),
            ("keys", HostileTar.manifest([member("keys.sealed")], keys: "left-out")),
            ("'keys' has another form", HostileTar.manifest([], keys: "lost")),
            ("more than 10000 members", HostileTar.manifest((0...10_000).map { member("a\($0)") })),
            ("not of a backup", Array("{}".utf8)), ("not of a backup", []),
            ("not of a backup", Array(repeating: UInt8(ascii: "["), count: 100_000)),
            ("'created' is missing", Array(#"{"format":"ringwake-backup","version":1}"#.utf8)),
            ("'version' is missing", Array(#"{"format":"ringwake-backup"}"#.utf8)),
        ]
        for (words, manifest) in cases {
            var tar = HostileTar()
            tar.addManifest(manifest)
            tar.end()
            let error = try refusal(try tar.compress(directory), directory)
            #expect(error.code == .failed)
            let isShort = words.hasSuffix("'version' is missing")
            #expect(error.message.contains(isShort ? "not of a backup" : words), "\(words): \(error)")
        }
    }

    @Test("A newer version is refused with both numbers; unknown keys of this one are ignored")
    func versions() throws {
        let directory = try TemporaryDirectory()
        var newer = HostileTar()
        newer.addManifest([("a", [1])], version: 2)
        let error = try refusal(try newer.compress(directory), directory)
        #expect(error.message.contains("version 2") && error.message.contains("up to version 1"))
        var known = HostileTar()
        known.addManifest([("a", [1])])
        known.add("a", [1])
        known.end()
        let archive = try known.compress(directory)
        #expect(try ArchiveReader(archive).verify().members.map(\.name.description) == ["a"])
    }

    @Test("A manifest that doesn't fit its checksum, or has none, is refused, also when only it is read")
    func manifestChecksum() throws {
        let directory = try TemporaryDirectory()
        let manifest = HostileTar.manifest([])
        var (other, none) = (HostileTar(), HostileTar())
        other.add("manifest.json", manifest)
        var foreign = HostileTar()
        foreign.addManifest(manifest + [0x20])
        other.bytes += foreign.bytes.suffix(1024)
        none.add("manifest.json", manifest)
        for (tar, words) in [(other, "another checksum"), (none, "no checksum")] {
            let archive = try tar.compress(directory)
            #expect(try failure { _ = try ArchiveReader(archive).manifest() }.message.contains(words))
            #expect(try refusal(archive, directory).message.contains(words))
        }
    }

    @Test("Only zeros may follow")
    func trailing() throws {
        let sample = try Sample()
        try sample.write()
        let whole = try sample.directory.read("out/backup.tar.zst")
        for more in [[0], [1, 2, 3, 4, 5], whole] {
            let file = try sample.directory.write("longer", whole + more)
            #expect(try refusal(file, sample.directory).code == .failed)
        }
        var tar = HostileTar()
        tar.addManifest([("a", [1])])
        tar.add("a", [1])
        tar.end()
        #expect(throws: Never.self) { try ArchiveReader(try tar.compress(sample.directory)).verify() }
        tar.bytes += [UInt8](repeating: 0, count: 50_000)
        #expect(throws: Never.self) { try ArchiveReader(try tar.compress(sample.directory)).verify() }
        tar.bytes.append(1)
        let error = try refusal(try tar.compress(sample.directory), sample.directory)
        #expect(error.message.contains("something follows"), "\(error)")
    }

    @Test("Bombs end at the manifest's size")
    func bombs() throws {
        let directory = try TemporaryDirectory()
        let zeros = [UInt8](repeating: 0, count: 64 << 20)
        var cases: [HostileTar] = []
        // A manifest without end; a header without end before a member; much after the end; a file without end.
        for build: (inout HostileTar) -> Void in [
            { $0.add("manifest.json", zeros) },
            {
                $0.addManifest([("a", [1])])
                $0.add("pax", zeros, type: "x")
                $0.add("a", [1])
            },
            {
                $0.addManifest([("a", [1])])
                $0.add("long", zeros, type: "L")
                $0.add("a", [1])
            },
            {
                $0.addManifest([("a", [1])])
                $0.add("a", [1])
                $0.end()
                $0.bytes += zeros
            },
            {
                $0.addManifest([("a", [1])])
                $0.add("a", zeros)
            },
        ] {
            var tar = HostileTar()
            build(&tar)
            cases.append(tar)
        }
        let archives = try cases.enumerated().map { try $1.compress(directory, "bomb\($0)") }
        cases = []
        for (index, archive) in archives.enumerated() {
            try FileSystem.remove(archive + ".tar")
            let error = try refusal(archive, directory)
            #expect(error.code == .failed, "\(index): \(error)")
        }
    }

    @Test("A backup larger than the disk is refused before anything is written")
    func noRoom() throws {
        let directory = try TemporaryDirectory()
        var tar = HostileTar()
        tar.addManifest(HostileTar.manifest([HostileTar.member("a", [], bytes: 1 << 46)]))
        tar.end()
        let archive = try tar.compress(directory)
        let error = try failure {
            _ = try ArchiveReader(archive).unpack(into: directory.path("new"), passphrase: nil)
        }
        #expect(error.code == .system && error.message.contains("has no room"), "\(error)")
        #expect(!FileSystem.exists(directory.path("new")))
    }

    @Test("An existing directory, also an empty one or a link, is left alone")
    func existingDirectory() throws {
        let sample = try Sample()
        try sample.write()
        let (folder, link) = (sample.directory.path("folder"), sample.directory.path("link"))
        try FileSystem.createDirectory(folder, mode: 0o755)
        try #require(symlink(folder, link) == 0)
        for path in [folder, link] {
            let error = try failure { _ = try sample.reader.unpack(into: path, passphrase: nil) }
            #expect(error.code == .conflict)
        }
        #expect(try FileSystem.entries(of: folder) == [])
        let error = try failure { _ = try sample.reader.unpack(into: folder + "/a/b", passphrase: nil) }
        #expect(error.code == .notFound)
    }

    @Test("Cancelled at any call, unpacking leaves nothing")
    func cancelled() throws {
        let sample = try Sample()
        let all = try sample.write().totalBytes
        final class Log { var calls: [Int64] = [] }
        let log = Log()
        try sample.reader.verify { done, all in
            log.calls.append(done)
            return true
        }
        #expect(log.calls.last == all)
        for stop in log.calls {
            let error = try failure {
                _ = try sample.reader.unpack(into: sample.directory.path("new"), passphrase: nil) { done, _ in
                    done < stop
                }
            }
            #expect(error.message.contains("cancelled"))
            #expect(!FileSystem.exists(sample.directory.path("new")))
        }
    }
}

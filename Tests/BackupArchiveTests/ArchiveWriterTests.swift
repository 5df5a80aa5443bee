import BackupArchive
import CRingwakeLinux
import FileSystem
import Glibc
import RingwakeCore
import Testing

@Suite struct ArchiveWriterTests {
    @Test("What was backed up is unpacked with contents, modes and keys, and nothing else is left")
    func roundTrip() throws {
        let sample = try Sample()
        let written = try sample.write()
        #expect(try sample.directory.files("out") == ["out/backup.tar.zst"])
        #expect(try FileSystem.attributes(of: sample.target).mode == 0o600)
        #expect(try sample.reader.manifest() == written)
        #expect(written.keys == .encrypted)
        #expect(written.members.map(\.name.description).first == "keys.sealed")
        #expect(try sample.reader.verify(passphrase: try passphrase("correct horse")) == written)

        let target = sample.directory.path("new")
        let unpacked = try sample.reader.unpack(into: target, passphrase: try passphrase("correct horse"))
        #expect(unpacked.manifest == written)
        #expect(unpacked.keys.map(\.origin) == [nil, "/etc/ringwake/server.key"])
        #expect(try FileSystem.attributes(of: target).mode == 0o700)
        for source in sample.sources + sample.keys {
            let copy = target + "/" + source.name.description
            #expect(
                try FileSystem.read(copy, maximumSize: 1 << 20) == FileSystem.read(source.path, maximumSize: 1 << 20))
            #expect(try FileSystem.attributes(of: copy) == FileSystem.attributes(of: source.path))
        }
        #expect(
            try sample.directory.files("new").filter { !$0.hasSuffix("/") }.count
                == sample.sources.count + sample.keys.count)
    }

    @Test("Without a passphrase the keys stay sealed, and all else is unpacked")
    func withoutPassphrase() throws {
        let sample = try Sample()
        try sample.write()
        let unpacked = try sample.reader.unpack(into: sample.directory.path("new"), passphrase: nil)
        #expect(unpacked.keys == [])
        #expect(!FileSystem.exists(sample.directory.path("new/keys.sealed")))
        #expect(!FileSystem.exists(sample.directory.path("new/state/identity.key")))
        #expect(FileSystem.exists(sample.directory.path("new/store/store.db")))
    }

    @Test("A backup without keys says so")
    func leftOut() throws {
        let sample = try Sample()
        #expect(try sample.write(passphrase: nil).keys == .leftOut)
        #expect(try sample.reader.verify(passphrase: try passphrase("unused")).members.count == sample.sources.count)
        let text = try ArchiveWriter.write(
            sample.directory.path("none"), Sample.description, sample.sources, keys: .none)
        #expect(text.keys == .none)
    }

    @Test("tar and Python read the archive, and its first member is a manifest as documented")
    func otherPrograms() throws {
        let sample = try Sample()
        try sample.write()
        let list = sample.directory.path("list")
        try run("tar", "--zstd", "-tf", sample.target, output: list)
        #expect(
            try String(decoding: sample.directory.read("list"), as: UTF8.self).split(separator: "\n") == [
                "manifest.json", "manifest.sha256", "keys.sealed", "store/store.db", "state/calls/empty",
                "configuration/ringwaked.toml",
                "files/1",
            ])
        let check = """
            import hashlib, json, sys, tarfile
            archive = tarfile.open(fileobj=sys.stdin.buffer, mode="r|")
            text = archive.extractfile(archive.next()).read()
            manifest = json.loads(text)
            digest = archive.extractfile(archive.next()).read().decode()
            assert digest == hashlib.sha256(text).hexdigest() + "  manifest.json\\n", digest
            assert set(manifest) == {"format", "version", "created", "program", "host", "device", "kind", "store", "keys",
                "members"}, manifest
            assert (manifest["format"], manifest["version"]) == ("ringwake-backup", 1), manifest
            assert (manifest["created"], manifest["kind"]) == ("2026-11-27T18:00:00Z", "raw"), manifest
            assert manifest["store"] == {"version": 7, "bytes": 5000}, manifest
            assert manifest["keys"] == "encrypted", manifest
            for member in manifest["members"]:
                info = archive.next()
                data = archive.extractfile(info).read()
                assert (info.name, len(data)) == (member["name"], member["bytes"]), member
                assert hashlib.sha256(data).hexdigest() == member["sha256"], member
                assert "%04o" % info.mode == member["mode"], member
            assert member["origin"] == "/usr/share/sounds/klingelt ä.wav", member
            assert archive.next() is None
            """
        let tar = sample.directory.path("tar")
        try run("zstd", "-q", "-d", "-c", sample.target, output: tar)
        try run("python3", "-c", check, input: tar)
    }

    @Test("An existing target stays as it is, also a link to nowhere")
    func existingTarget() throws {
        let sample = try Sample()
        try sample.directory.write("out/backup.tar.zst", [7])
        #expect(try failure { try sample.write() }.code == .conflict)
        #expect(try sample.directory.read("out/backup.tar.zst") == [7])
        try FileSystem.remove(sample.target)
        try #require(symlink("/nowhere", sample.target) == 0)
        #expect(try failure { try sample.write() }.code == .conflict)
        #expect(FileSystem.isLink(sample.target))
        #expect(try FileSystem.entries(of: sample.directory.path("out")) == ["backup.tar.zst"])
    }

    @Test("A target that appears meanwhile is not replaced")
    func targetAppears() throws {
        let sample = try Sample()
        let error = try failure {
            try sample.write { done, all in
                if done == all { _ = try? sample.directory.write("out/backup.tar.zst", [7]) }
                return true
            }
        }
        #expect(error.code == .conflict)
        #expect(try sample.directory.files("out") == ["out/backup.tar.zst"])
        #expect(try sample.directory.read("out/backup.tar.zst") == [7])
    }

    @Test("What can't be backed up is named, and leaves nothing")
    func badSources() throws {
        let sample = try Sample()
        let missing = sample.directory.path("missing")
        let pipe = sample.directory.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        for (path, code) in [
            (missing, RingwakeError.Code.notFound), (sample.directory.root, .system), (pipe, .system),
            ("a\0b", .system),
        ] {
            let source = ArchiveWriter.Source(try name("state/x"), path: path)
            for keys in [ArchiveWriter.Keys.none, .sealed([source], try passphrase("x"))] {
                let error = try failure {
                    let sources = if case .none = keys { sample.sources + [source] } else { sample.sources }
                    _ = try ArchiveWriter.write(
                        sample.target, Sample.description, sources, keys: keys, cost: Sample.cheap)
                }
                #expect(error.code == code)
                #expect(error.message.contains(path), "\(error)")
            }
        }
        let nothing = try failure {
            _ = try ArchiveWriter.write(sample.target, Sample.description, [], keys: .none)
        }
        #expect(nothing.code == .notFound)
        let twice = try failure {
            _ = try ArchiveWriter.write(
                sample.target, Sample.description, sample.sources + sample.sources.prefix(1), keys: .none)
        }
        #expect(twice.code == .invalidRequest)
        #expect(try sample.directory.files("out") == [])
    }

    @Test("Without its directory there is no target")
    func missingDirectory() throws {
        let sample = try Sample()
        let error = try failure {
            _ = try ArchiveWriter.write(
                sample.directory.path("nowhere/x"), Sample.description, sample.sources, keys: .none)
        }
        #expect(error.code == .notFound)
        #expect(error.message.contains("directory does not exist"))
    }

    @Test("Cancelled at any call, nothing is left; both passes count")
    func cancelled() throws {
        let sample = try Sample()
        final class Log { var calls: [(Int64, Int64)] = [] }
        let log = Log()
        try sample.write { done, all in
            log.calls.append((done, all))
            return true
        }
        try FileSystem.remove(sample.target)
        let last = try #require(log.calls.last)
        #expect(last.0 == last.1 && last.1 == 2 * (5000 + 17 + 3))
        #expect(log.calls.count >= 6)
        for (stop, _) in log.calls {
            let error = try failure { try sample.write { done, _ in done < stop } }
            #expect(error.message.contains("cancelled"))
            #expect(try sample.directory.files("out") == [])
        }
    }

    @Test("A file that changes between the passes is named", arguments: ["other", "longer", "shorter", "gone"])
    func changed(how: String) throws {
        let sample = try Sample()
        let path = sample.sources[0].path
        let error = try failure {
            try sample.write { done, all in
                guard done == all / 2 else { return true }
                switch how {
                case "other": try? FileSystem.replace(path, with: [UInt8](repeating: 1, count: 5000), mode: 0o600)
                case "longer": try? FileSystem.replace(path, with: [UInt8](repeating: 1, count: 5001), mode: 0o600)
                case "shorter": truncate(path, 10)
                default: unlink(path)
                }
                return true
            }
        }
        #expect(error.code == (how == "gone" ? .notFound : .conflict))
        #expect(error.message.contains(path))
        #expect(try sample.directory.files("out") == [])
    }

    @Test("A file that grows or shrinks while it is read is named", arguments: [true, false])
    func changesWhileRead(isGrowing: Bool) throws {
        let sample = try Sample(storeBytes: 1 << 20)
        let path = sample.sources[0].path
        let error = try failure {
            try sample.write { _, _ in
                truncate(path, isGrowing ? 1 << 21 : 1 << 19)
                return true
            }
        }
        #expect(error.code == .conflict)
        #expect(error.message.contains(path))
    }

    @Test("Too many keys are refused")
    func tooManyKeys() throws {
        let sample = try Sample()
        let large = try sample.directory.write("large", [UInt8](repeating: 1, count: 9 << 20))
        let error = try failure {
            let keys = [ArchiveWriter.Source(try name("state/large"), path: large)]
            _ = try ArchiveWriter.write(
                sample.target, Sample.description, sample.sources, keys: .sealed(keys, try passphrase("x")),
                cost: Sample.cheap)
        }
        #expect(error.code == .limitReached)
    }

    @Test("On a full disk nothing is left, and both ways say so", .enabled(if: getuid() == 0))
    func fullDisk() throws {
        let sample = try Sample()
        let small = sample.directory.path("small")
        try FileSystem.createDirectory(small, mode: 0o700)
        try run("mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", small)
        defer { _ = try? run("umount", small) }
        var generator = SystemRandomNumberGenerator()
        let noise = (0..<400_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let source = ArchiveWriter.Source(try name("store/store.db"), path: try sample.directory.write("noise", noise))
        let packing = try failure {
            _ = try ArchiveWriter.write(small + "/x", Sample.description, [source], keys: .none)
        }
        #expect(packing.code == .system)
        #expect(packing.message.contains("no room"), "\(packing)")
        #expect(try FileSystem.entries(of: small) == [])

        _ = try ArchiveWriter.write(sample.target, Sample.description, [source], keys: .none)
        let unpacking = try failure { _ = try sample.reader.unpack(into: small + "/new", passphrase: nil) }
        #expect(unpacking.code == .system)
        #expect(unpacking.message.contains("has no room"), "\(unpacking)")
        #expect(try FileSystem.entries(of: small) == [])
    }
}

@Suite struct PartialFileTests {
    private let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

    @Test("What a killed writer left doesn't hinder the next", arguments: [[], [0x28, 0xB5, 0x2F, 0xFD, 1, 2]])
    func leftOver(contents: [UInt8]) throws {
        let sample = try Sample()
        try sample.directory.write("out/backup.tar.zst.partial", contents)
        try sample.write()
        #expect(try sample.directory.files("out") == ["out/backup.tar.zst"])
    }

    @Test("A file of another kind with that name stays")
    func foreign() throws {
        let sample = try Sample()
        try sample.directory.write("out/backup.tar.zst.partial", Array("a download".utf8))
        #expect(try failure { try sample.write() }.code == .inUse)
        #expect(try sample.directory.files("out") == ["out/backup.tar.zst.partial"])
    }

    @Test("Two writers of one target: the second is refused, the first finishes")
    func twoWriters() throws {
        let sample = try Sample()
        final class Second { var error: RingwakeError? }
        let second = Second()
        try sample.write { _, _ in
            if second.error == nil { second.error = try? failure { try sample.write() } }
            _ = try? PartialFile.removeAll(in: sample.directory.path("out"))
            return true
        }
        #expect(second.error?.code == .inUse)
        try sample.reader.verify()
    }

    @Test("What killed writers left beside standard names is removed; what is written, and other files, stay")
    func removeAll() throws {
        let directory = try TemporaryDirectory()
        let standard = BackupName(BackupTime(secondsSince1970: 1_795_802_400)).description
        let running = BackupName(BackupTime(secondsSince1970: 1_795_802_401)).description + ".partial"
        let foreign = BackupName(BackupTime(secondsSince1970: 1_795_802_402)).description + ".partial"
        try directory.write(standard, magic)
        try directory.write(standard + ".partial", magic + [1])
        try directory.write("film.partial", magic)
        try directory.write(foreign, [1, 2, 3, 4])
        try directory.write(running, magic)
        let link = BackupName(BackupTime(secondsSince1970: 1_795_802_403)).description + ".partial"
        try #require(symlink(directory.path(standard), directory.path(link)) == 0)
        let lock = try FileLock(path: directory.path(running))
        #expect(try PartialFile.removeAll(in: directory.root) == [standard + ".partial"])
        #expect(
            try FileSystem.entries(of: directory.root) == ["film.partial", standard, running, foreign, link])
        withExtendedLifetime(lock) {}
        #expect(try failure { try PartialFile.removeAll(in: directory.path("nowhere")) }.code == .notFound)
    }
}

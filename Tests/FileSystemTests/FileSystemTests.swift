import FileSystem
import Glibc
import Testing

@Suite struct FileSystemTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test("A file that was replaced is read back byte for byte", arguments: [0, 1, 65_535, 65_536, 200_000])
    func roundTrip(size: Int) throws {
        let path = directory.path("file")
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try FileSystem.replace(path, with: bytes, mode: 0o640)
        #expect(try FileSystem.read(path, maximumSize: size) == bytes)
    }

    @Test("A copy has the same bytes and is its owner's alone; nothing is replaced, and a link is not followed")
    func copy() throws {
        let (path, target) = (directory.path("file"), directory.path("copy"))
        let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try FileSystem.replace(path, with: bytes, mode: 0o644)
        try FileSystem.copy(path, to: target)
        #expect(try FileSystem.read(target, maximumSize: bytes.count) == bytes)
        #expect(try FileSystem.attributes(of: target).mode == 0o600)
        #expect(throws: FileSystemError(operation: "open", path: target, errno: EEXIST)) {
            try FileSystem.copy(path, to: target)
        }
        #expect(symlink("file", directory.path("link")) == 0)
        #expect(throws: FileSystemError(operation: "open", path: directory.path("link"), errno: ELOOP)) {
            try FileSystem.copy(directory.path("link"), to: directory.path("other"))
        }
        #expect(throws: FileSystemError(operation: "copy", path: directory.root, errno: EINVAL)) {
            try FileSystem.copy(directory.root, to: directory.path("other"))
        }
        #expect(!FileSystem.exists(directory.path("other")))
    }

    @Test("A file gets a second name, which is no other file's")
    func linkNew() throws {
        try FileSystem.replace(directory.path("file"), with: [1], mode: 0o640)
        try FileSystem.linkNew(directory.path("file"), at: directory.path("second"))
        try FileSystem.replace(directory.path("file"), with: [2], mode: 0o640)
        #expect(try FileSystem.read(directory.path("second"), maximumSize: 1) == [1])
        #expect(throws: FileSystemError(operation: "create", path: directory.path("second"), errno: EEXIST)) {
            try FileSystem.linkNew(directory.path("file"), at: directory.path("second"))
        }
    }

    @Test("A directory is removed with everything in it, and what its links lead to stays")
    func removeTree() throws {
        let tree = directory.path("tree")
        try FileSystem.createDirectory("\(tree)/inner/innermost", mode: 0o700)
        try FileSystem.createDirectory(directory.path("kept"), mode: 0o700)
        for path in ["\(tree)/one", "\(tree)/inner/two", directory.path("kept/file")] {
            try FileSystem.create(path, mode: 0o600)
        }
        #expect(symlink("../../kept", "\(tree)/inner/link") == 0)
        #expect(throws: FileSystemError.self) { try FileSystem.removeTree("\(tree)/inner/link") }
        try FileSystem.removeTree(tree)
        #expect(!FileSystem.exists(tree) && FileSystem.exists(directory.path("kept/file")))
    }

    @Test("A file is replaced as a whole: a reader that has the old one open keeps it, and nothing is left beside it")
    func replaceIsAtomic() throws {
        let path = directory.path("file")
        try FileSystem.replace(path, with: Array("old".utf8), mode: 0o600)
        let old = open(path, O_RDONLY)
        defer { close(old) }
        try FileSystem.replace(path, with: Array("new, and longer".utf8), mode: 0o644)
        var buffer = [UInt8](repeating: 0, count: 16)
        #expect(read(old, &buffer, 16) == 3)
        #expect(try FileSystem.read(path, maximumSize: 100) == Array("new, and longer".utf8))
        #expect(try FileSystem.entries(of: directory.root) == ["file"])
    }

    @Test("A file is made once, is moved in place of another, and has its size; nothing else has one")
    func createAndMove() throws {
        let (path, target) = (directory.path("new"), directory.path("old"))
        try FileSystem.create(path, mode: 0o600)
        #expect(throws: FileSystemError.self) { try FileSystem.create(path, mode: 0o600) }
        #expect(try FileSystem.size(ofFile: path) == 0)
        try FileSystem.replace(target, with: [1, 2, 3], mode: 0o600)
        #expect(try FileSystem.size(ofFile: target) == 3)
        try FileSystem.move(path, to: target)
        #expect(try FileSystem.size(ofFile: target) == 0)
        #expect(try FileSystem.entries(of: directory.root) == ["old"])
        #expect(throws: FileSystemError.self) { try FileSystem.move(path, to: target) }
        for other in [path, directory.root, "/dev/zero", "a\u{0}"] {
            #expect(throws: FileSystemError.self) { try FileSystem.size(ofFile: other) }
        }
    }

    @Test("The mode is the one asked for, whatever the umask and the old file say", arguments: [0o600, 0o644, 0o400])
    func mode(mode: mode_t) throws {
        let path = directory.path("file")
        for _ in 0..<2 {
            try FileSystem.replace(path, with: [1], mode: mode)
            var status = stat()
            #expect(stat(path, &status) == 0)
            #expect(status.st_mode & 0o777 == mode)
        }
    }

    @Test("A replacement that fails leaves the old file and no temporary one")
    func failedReplacement() throws {
        let path = directory.path("taken")
        try FileSystem.createDirectory(path + "/inside", mode: 0o700)
        let error = #expect(throws: FileSystemError.self) { try FileSystem.replace(path, with: [1], mode: 0o600) }
        #expect(error?.operation == "replace")
        #expect(error?.path == path)
        #expect(try FileSystem.entries(of: directory.root) == ["taken"])
        let missing = #expect(throws: FileSystemError.self) {
            try FileSystem.replace(directory.path("no/such/file"), with: [1], mode: 0o600)
        }
        #expect(missing?.errno == ENOENT)
    }

    @Test("A file over the limit is EFBIG, also when it does not say how long it is")
    func tooLong() throws {
        let path = directory.path("file")
        try FileSystem.replace(path, with: [1, 2, 3], mode: 0o600)
        let error = #expect(throws: FileSystemError.self) { try FileSystem.read(path, maximumSize: 2) }
        #expect(error?.errno == EFBIG)
        let endless = #expect(throws: FileSystemError.self) {
            try FileSystem.read("/dev/zero", maximumSize: 100_000, acceptingPipes: true)
        }
        #expect(endless?.errno == EFBIG)
        #expect(try FileSystem.read("/proc/self/status", maximumSize: 65_536).count > 100)
    }

    @Test("A file that claims to be longer than it is, as all of sysfs, is read by what is in it")
    func overstatedSize() throws {
        #expect(try FileSystem.read("/sys/class/net/lo/ifindex", maximumSize: 16) == Array("1\n".utf8))
    }

    @Test("What is not a regular file is refused at once, also a pipe that nobody writes")
    func notAFile() throws {
        let pipe = directory.path("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(throws: FileSystemError(operation: "read", path: pipe, errno: EINVAL)) {
            try FileSystem.read(pipe, maximumSize: 10)
        }
        #expect(throws: FileSystemError(operation: "read", path: directory.root, errno: EISDIR)) {
            try FileSystem.read(directory.root, maximumSize: 1_000_000)
        }
    }

    @Test("An error says what could not be done, to which path, and why")
    func description() {
        let error = #expect(throws: FileSystemError.self) { try FileSystem.read("/no/such", maximumSize: 1) }
        #expect(error?.description == "cannot open /no/such: No such file or directory")
        let nul = #expect(throws: FileSystemError.self) { try FileSystem.read("/etc/passwd\u{0}x", maximumSize: 9) }
        #expect(nul?.errno == EINVAL)
    }

    @Test("A directory is made with its parents; one that is there is fine, a file in its place is not")
    func createDirectory() throws {
        let path = directory.path("a/b//c/")
        try FileSystem.createDirectory(path, mode: 0o700)
        try FileSystem.createDirectory(path, mode: 0o700)
        #expect(FileSystem.exists(directory.path("a/b/c")))
        try FileSystem.replace(directory.path("file"), with: [], mode: 0o600)
        let over = #expect(throws: FileSystemError.self) {
            try FileSystem.createDirectory(directory.path("file"), mode: 0o700)
        }
        #expect(over?.errno == ENOTDIR)
        let below = #expect(throws: FileSystemError.self) {
            try FileSystem.createDirectory(directory.path("file/below"), mode: 0o700)
        }
        #expect(below?.errno == ENOTDIR)
        try FileSystem.createDirectory("/", mode: 0o700)
    }

    @Test("Names come sorted; what is gone, is gone")
    func entries() throws {
        for name in ["b.toml", "a.toml", "C"] {
            try FileSystem.replace(directory.path(name), with: [], mode: 0o600)
        }
        #expect(try FileSystem.entries(of: directory.root) == ["C", "a.toml", "b.toml"])
        try FileSystem.remove(directory.path("C"))
        #expect(!FileSystem.exists(directory.path("C")))
        let error = #expect(throws: FileSystemError.self) { try FileSystem.remove(directory.path("C")) }
        #expect(error?.errno == ENOENT)
        #expect(throws: FileSystemError.self) { try FileSystem.entries(of: directory.path("C")) }
    }

    @Test("Only a regular file with the right to execute it is an executable")
    func executable() throws {
        #expect(FileSystem.isExecutableFile("/bin/sh"))
        #expect(!FileSystem.isExecutableFile("/bin"))
        #expect(!FileSystem.isExecutableFile("/etc/passwd"))
        #expect(!FileSystem.isExecutableFile("/no/such"))
    }

    @Test(
        "A directory is writable by others when its mode says so, also with the sticky bit",
        arguments: [(0o700, false), (0o755, false), (0o775, false), (0o777, true), (0o1777, true), (0o702, true)])
    func writableByOthers(mode: mode_t, expected: Bool) throws {
        let path = directory.path("open")
        try FileSystem.createDirectory(path, mode: 0o700)
        #expect(chmod(path, mode) == 0)
        #expect(try FileSystem.isWritableByOthers(directory: path) == expected)
        #expect(throws: FileSystemError.self) { try FileSystem.isWritableByOthers(directory: path + "/none") }
    }

    @Test("A directory of another user, or one that another group may write to, is writable by others")
    func foreignDirectories() throws {
        guard geteuid() == 0 else { return }
        let path = directory.path("foreign")
        try FileSystem.createDirectory(path, mode: 0o700)
        #expect(chown(path, 0, 65534) == 0 && chmod(path, 0o770) == 0)
        #expect(try FileSystem.isWritableByOthers(directory: path))
        #expect(chmod(path, 0o750) == 0)
        #expect(try !FileSystem.isWritableByOthers(directory: path))
        #expect(chown(path, 65534, 0) == 0)
        #expect(try FileSystem.isWritableByOthers(directory: path))
    }

    @Test("A lock is held by one at a time, and is free again when its holder goes")
    func lock() throws {
        let path = directory.path("lock")
        var first: FileLock? = try FileLock(path: path)
        let error = #expect(throws: FileSystemError.self) { _ = try FileLock(path: path) }
        #expect(error?.errno == EWOULDBLOCK)
        // As a child that was forked meanwhile has it, until it executes its program.
        let descriptor = try #require(
            (Int32(3)..<1_024).first { number in
                var (file, lock) = (stat(), stat())
                return fstat(number, &file) == 0 && stat(path, &lock) == 0 && file.st_ino == lock.st_ino
                    && file.st_dev == lock.st_dev
            })
        let inherited = dup(descriptor)
        defer { close(inherited) }
        withExtendedLifetime(first) {}
        first = nil
        _ = try FileLock(path: path)
    }
}

/// A directory that goes with its contents at the end of the test.
final class TemporaryDirectory {
    let root: String

    init() throws {
        var template = Array("/tmp/ringwake-test.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw FileSystemError(operation: "mkdtemp", path: "/tmp", errno: errno)
        }
        root = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        Self.removeAll(root)
    }

    func path(_ name: String) -> String { "\(root)/\(name)" }

    private static func removeAll(_ path: String) {
        for name in (try? FileSystem.entries(of: path)) ?? [] { removeAll("\(path)/\(name)") }
        Glibc.remove(path)
    }
}

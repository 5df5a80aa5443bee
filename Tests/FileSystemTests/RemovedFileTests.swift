import FileSystem
import Glibc
import Testing

@Suite("A removed file") struct RemovedFileTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test("has no name at once, and no contents after it was freed", arguments: [0, 1, 40 << 20])
    func removed(size: Int) throws {
        let path = directory.path("file")
        try FileSystem.create(path, mode: 0o600)
        // Its size without its blocks: how much has to be freed doesn't matter here.
        #expect(truncate(path, off_t(size)) == 0)
        let reader = open(path, O_RDONLY)
        defer { close(reader) }
        let file = try RemovedFile(path)
        #expect(!FileSystem.exists(path))
        var status = stat()
        #expect(fstat(reader, &status) == 0 && status.st_size == size)
        file.free()
        #expect(fstat(reader, &status) == 0 && status.st_size == 0)
    }

    @Test("is no link, no folder, and nothing that isn't there")
    func refused() throws {
        let (missing, link) = (directory.path("missing"), directory.path("link"))
        #expect(symlink("file", link) == 0)
        for (path, number) in [(missing, ENOENT), (link, ELOOP), (directory.root, EISDIR)] {
            let error = FileSystemError(operation: "open", path: path, errno: number)
            #expect(throws: error) { _ = try RemovedFile(path) }
        }
        #expect(FileSystem.isLink(link))
    }
}

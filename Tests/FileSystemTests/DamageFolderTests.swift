import FileSystem
import Glibc
import Testing

@Suite struct DamageFolderTests {
    let directory: TemporaryDirectory
    let folder: DamageFolder

    init() throws {
        directory = try TemporaryDirectory()
        folder = DamageFolder(stateDirectory: directory.root)
    }

    @Test(
        "A name with a number that is too high is passed over",
        arguments: ["9223372036854775807-x", "9223372036854775808-x", "1000000000000000.why", "-1-x"])
    func highNumber(name: String) throws {
        try folder.add([], why: "first")
        try FileSystem.create(directory.path("\(DamageFolder.name)/\(name)"), mode: 0o600)
        try folder.add([], why: "second")
        #expect(try folder.cases().map(\.number) == [1, 2])
        #expect(try folder.cases().map(\.why) == ["first", "second"])
    }

    @Test("Files of one name from different folders are all kept")
    func sameName() throws {
        try FileSystem.createDirectory(directory.path("copies"), mode: 0o700)
        let files = ["file", "copies/file"].map { directory.path($0) }
        for file in files { try FileSystem.replace(file, with: Array(file.utf8), mode: 0o600) }
        let moved = try folder.add(files, why: "both")
        #expect(try moved.map { try FileSystem.read($0, maximumSize: 1 << 10) } == files.map { Array($0.utf8) })
        #expect(try folder.cases().map { Set($0.files).isSuperset(of: moved) } == [true])
    }
}

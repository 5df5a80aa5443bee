import FileSystem
import Glibc
import Logging
import RingwakeCore
import RunLoop
import Testing

@testable import CallAudio

/// How programs with journals in different folders find each other's.
final class JournalRegistryTests {
    private let folder: String
    private let log = Lines()

    init() throws {
        var template = Array("/tmp/ringwake-registry-XXXXXX".utf8CString)
        folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        for name in ["run", "a", "b"] { mkdir("\(folder)/\(name)", 0o700) }
    }

    deinit { remove(folder) }

    private func remove(_ path: String) {
        for name in (try? FileSystem.entries(of: path)) ?? [] where unlink("\(path)/\(name)") != 0 {
            remove("\(path)/\(name)")
        }
        rmdir(path)
    }

    /// The registry as one more program has it.
    private func registry(_ environment: [String: String]? = nil) throws -> JournalRegistry {
        let log = log
        let logger = Logger(label: "test") { _ in log }
        return try #require(JournalRegistry(environment ?? ["XDG_RUNTIME_DIR": folder + "/run"], logger))
    }

    private func make(_ path: String) throws -> String {
        try FileSystem.replace(path, with: [], mode: 0o600)
        return path
    }

    /// The lock of the one before may be held a moment longer, by a process that another test is just starting.
    private func reopened(_ path: String) throws -> EffectJournal {
        let end = BootClock.now().advanced(by: .seconds(300))
        while true {
            do throws(EffectJournalError) {
                return try EffectJournal(path: path)
            } catch {
                guard error.kind == .inUse, BootClock.now() < end else { throw error }
                usleep(1_000)
            }
        }
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test("other programs find a journal as long as it is there")
    func entered() throws {
        let journal = try make(folder + "/a/effects.json")
        let (mine, others) = (try registry(), try registry())
        #expect(others.journals.isEmpty)
        mine.enter(journal)
        mine.enter(journal)
        #expect(others.journals == [journal])
        #expect(mode(mine.folder) == 0o700)
        unlink(journal)
        #expect(others.journals.isEmpty)
        mine.leave(journal)
        #expect(try FileSystem.entries(of: mine.folder).isEmpty)
        #expect(log.all.isEmpty)
    }

    @Test("an effect journal is known from its first effect to its last, and to those who come later")
    func journaled() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300, kind: "music")
        bench.apply(try .media())
        let others = try registry()
        do {
            let journal = try EffectJournal(path: folder + "/a/effects.json")
            journal.registry = try registry()
            #expect(others.journals.isEmpty)
            try journal.write(bench.ledger)
            #expect(others.journals == [journal.place])
            // The user's runtime directory was emptied: what is written next is found again.
            others.leave(journal.place)
            bench.ledger.addPlayers(
                [MediaPlayer(name: "p", owner: ":1.5", process: 1, track: "/track")], boot: EffectLedger.presentBoot)
            try journal.write(bench.ledger)
            #expect(others.journals == [journal.place])
        }
        // Its program is gone without a word.
        #expect(others.journals.count == 1)
        let journal = try reopened(folder + "/a/effects.json")
        others.leave(journal.place)
        journal.registry = try registry()
        #expect(others.journals == [journal.place])
        try journal.write(EffectLedger())
        #expect(try FileSystem.entries(of: others.folder).isEmpty)
    }

    @Test("what a killed program left is swept, and nothing of one that is at work")
    func swept() throws {
        let (gone, present) = (folder + "/a/effects.json", folder + "/b/effects.json")
        let registry = try registry()
        for journal in [gone, present] {
            _ = try make(journal)
            registry.enter(journal)
            unlink(journal)
        }
        // It holds its lock, and is about to write its journal.
        let lock = try FileLock(path: present + ".lock")
        registry.enter(try make(folder + "/last.json"))
        withExtendedLifetime(lock) {
            #expect(access(registry.entry(of: gone), F_OK) != 0 && !isLink(registry.entry(of: gone)))
            #expect(isLink(registry.entry(of: present)))
        }
    }

    @Test("entries whose folder is gone are swept too")
    func folderGone() throws {
        let registry = try registry()
        registry.enter(folder + "/none/effects.json")
        registry.enter(try make(folder + "/last.json"))
        #expect(try FileSystem.entries(of: registry.folder).count == 1)
    }

    private func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    @Test("there are so many entries, and room again when journals go")
    func bounded() throws {
        let registry = try registry()
        for number in 0..<JournalRegistry.maximumEntries { registry.enter(try make("\(folder)/a/\(number)")) }
        let one = try make(folder + "/b/effects.json")
        registry.enter(one)
        registry.enter(one)
        #expect(registry.journals.count == JournalRegistry.maximumEntries)
        #expect(!registry.journals.contains(one))
        #expect(log.all.count == 1 && log.all.allSatisfy { $0.contains("entries") }, "\(log.all)")
        unlink(folder + "/a/7")
        registry.enter(one)
        #expect(registry.journals.contains(one))
        #expect(registry.journals.count == JournalRegistry.maximumEntries)
    }

    @Test("what is in the folder and is no entry leads nowhere")
    func strange() throws {
        let registry = try registry()
        registry.enter(try make(folder + "/a/effects.json"))
        _ = try make(registry.folder + "/1.journal")
        mkdir(registry.folder + "/2.journal", 0o700)
        symlink(".", registry.folder + "/3.journal")
        symlink(folder + "/a/effects.json", registry.folder + "/4")
        #expect(registry.journals == [folder + "/a/effects.json"])
    }

    @Test("entries of another user lead nowhere", .enabled(if: geteuid() == 0, "needs root to make one"))
    func foreign() throws {
        let registry = try registry()
        let journal = try make(folder + "/a/effects.json")
        registry.enter(journal)
        lchown(registry.entry(of: journal), 65_534, 65_534)
        #expect(registry.journals.isEmpty)
        registry.enter(journal)
        #expect(registry.journals == [journal])
        chown(registry.folder, 65_534, 65_534)
        #expect(registry.journals.isEmpty)
    }

    @Test("a folder that others may write to is not used")
    func writable() throws {
        let registry = try registry()
        let journal = try make(folder + "/a/effects.json")
        registry.enter(journal)
        chmod(registry.folder, 0o777)
        #expect(registry.journals.isEmpty)
        registry.leave(journal)
        registry.enter(journal)
        #expect(log.all.count == 1)
    }

    @Test("a folder that cannot be made is told once, and effects are journaled without it")
    func unusable() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300, kind: "music")
        bench.apply(try .media())
        _ = try make(folder + "/run/ringwake-audio")
        let journal = try EffectJournal(path: folder + "/a/effects.json")
        let registry = try registry()
        journal.registry = registry
        try journal.write(bench.ledger)
        #expect(FileSystem.exists(journal.path))
        try journal.write(EffectLedger())
        #expect(registry.journals.isEmpty)
        #expect(log.all.count == 1)
    }

    @Test("without a runtime directory of its own, a program has none", arguments: [[:], ["XDG_RUNTIME_DIR": "run"]])
    func nowhere(environment: [String: String]) {
        #expect(JournalRegistry(environment, Logger(label: "test") { _ in Lines() }) == nil)
    }

    @Test("a journal has one place, however it is written")
    func places() throws {
        symlink(folder + "/a", folder + "/link")
        let real = try #require(realpath(folder, nil))
        defer { free(real) }
        #expect(EffectJournals.place(of: folder + "/link/x") == String(cString: real) + "/a/x")
        #expect(EffectJournals.place(of: folder + "/b/../a/x") == String(cString: real) + "/a/x")
        #expect(EffectJournals.place(of: "/x") == "/x")
        #expect(EffectJournals.place(of: "x").hasSuffix("/x") && EffectJournals.place(of: "x").hasPrefix("/"))
        #expect(EffectJournals.place(of: folder + "/none/x") == folder + "/none/x")
    }
}

/// What is logged, as lines.
private struct Lines: LogHandler {
    private let lines = Box<String>()
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    var all: [String] { lines.values }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.put("\(event.message) \(event.metadata ?? [:])") }
}

import CRingwakeLinux
import CRingwakeSQLite
import Glibc
import Logging
import PushJournal
import RingwakeCore
import RunLoop
import StoreMigration
import Testing

@Suite("Opening a journal")
struct OpeningTests {
    private func failure(opening harness: JournalHarness) -> RingwakeError? {
        do throws(any Error) {
            try harness.reopen()
            return nil
        } catch {
            return error as? RingwakeError
        }
    }

    private func contents(of path: String) throws -> [UInt8] {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
        return bytes
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    }

    @Test(
        "a row with a number that leaves none for the next one is damage, not a trap, and is not copied",
        arguments: [
            "UPDATE push SET sequence = 9223372036854775807", "UPDATE boot SET id = 9223372036854775807, name = ''",
            "UPDATE epoch SET number = 9223372036854775807",
        ])
    func numbersAtTheEnd(change: String) throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"))
        harness.journal.close()
        do { try StoreProbe(harness.directory.store).run(change) }
        try harness.reopen()
        #expect(harness.contents.damage.map { $0.contains("9223372036854775807") } == [true])
        #expect(try harness.append(harness.push("B")) == .new)
    }

    @Test("a new store belongs to its owner alone, and so does its log")
    func mode() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"))
        for name in ["store.db", "store.db-wal"] {
            var status = stat()
            try #require(stat("\(harness.directory.path)/\(name)", &status) == 0)
            #expect(status.st_mode & 0o7777 == 0o600)
        }
    }

    @Test("the settings that make a commit durable are those of the file")
    func settings() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"))
        harness.journal.close()
        let probe = try StoreProbe(harness.directory.store)
        #expect(try probe.text("PRAGMA journal_mode") == "wal")
        #expect(try probe.number("PRAGMA auto_vacuum") == 2)
        #expect(try probe.number("PRAGMA user_version") == StoreModels.all.current.version)
        #expect(try probe.number("PRAGMA application_id") == 0x5269_6e67)
        #expect(try probe.text("PRAGMA integrity_check") == "ok")
        #expect(try probe.number("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND strict") == 13)
    }

    @Test("each commit is forced to the disk once, before its answer")
    func synchronizes() throws {
        let harness = try JournalHarness(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        try harness.reopen()
        _ = try harness.append(harness.push("first"))
        for number in 1...5 {
            let before = disk.changes.count
            _ = try harness.append(harness.push("\(number)"))
            let changes = disk.changes[before...].filter { if case .write = $0 { false } else { true } }
            #expect(changes.count == 1)
            guard case .sync("store.db-wal", true) = changes.first else {
                Issue.record("\(changes)")
                return
            }
        }
    }

    @Test("a store of a newer version is refused and left as it is")
    func newer() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"))
        harness.journal.close()
        try StoreProbe(harness.directory.store).run("PRAGMA user_version = \(StoreModels.all.current.version + 1)")
        let before = try contents(of: harness.directory.store)
        let error = failure(opening: harness)
        #expect(error?.code == .conflict)
        #expect(error?.message.contains("newer version") == true)
        #expect(try contents(of: harness.directory.store) == before)
    }

    @Test("a store of another program is set aside as it is", arguments: ["application_id = 77", "application_id = 0"])
    func foreign(change: String) throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"))
        harness.journal.close()
        try StoreProbe(harness.directory.store).run("PRAGMA \(change)")
        let before = try contents(of: harness.directory.store)
        try harness.reopen()
        let damage = try #require(harness.contents.damage.first)
        #expect(damage.contains("another program") && damage.contains("newest 1 pushes are lost"))
        #expect(try contents(of: "\(harness.directory.path)/damaged/1-store.db") == before)
        #expect(try harness.append(harness.push("A")) == .new)
        try harness.reopen()
        #expect(harness.contents.damage.isEmpty)
    }

    @Test("a store that is refused keeps its log as it is")
    func foreignWithLog() throws {
        let harness = try JournalHarness()
        harness.journal.close()
        let copy = try TemporaryDirectory()
        let names = ["store.db", "store.db-wal"]
        do {
            let newer = try StoreProbe(harness.directory.store)
            try newer.run("PRAGMA user_version = 9")
            for name in names {
                try write(contents(of: "\(harness.directory.path)/\(name)"), to: "\(copy.path)/\(name)")
            }
        }
        let before = try names.map { try contents(of: "\(copy.path)/\($0)") }
        try #require(before[1].count > 4_096)
        let error = #expect(throws: RingwakeError.self) {
            _ = try PushJournal(
                directory: copy.path, runLoop: harness.loop, logger: .init(label: "test"),
                clocks: harness.clock.clocks())
        }
        #expect(error?.message.contains("newer version") == true)
        #expect(try names.map { try contents(of: "\(copy.path)/\($0)") } == before)
    }

    @Test("an empty file becomes a store; one that is no database is set aside as it is")
    func noDatabase() throws {
        let harness = try JournalHarness()
        harness.journal.close()
        try write([], to: harness.directory.store)
        try harness.reopen()
        #expect(harness.contents.nextCallNumber == 1)
        harness.journal.close()
        let text = [UInt8](repeating: 0x41, count: 5_000)
        try write(text, to: harness.directory.store)
        try harness.reopen()
        #expect(harness.contents.damage.map { $0.contains("is damaged") || $0.contains("was damaged") } == [true])
        // The first case is the note that the store had become an empty file.
        #expect(try contents(of: "\(harness.directory.path)/damaged/2-store.db") == text)
    }

    @Test("a directory that is not there and a path with a NUL are refused")
    func badPaths() throws {
        let loop = try RunLoop()
        let directory = try TemporaryDirectory()
        for path in [directory.path + "/missing", directory.path + "\0"] {
            let error = #expect(throws: RingwakeError.self) {
                _ = try PushJournal(
                    directory: path, runLoop: loop, logger: .init(label: "test"), clocks: TestClock().clocks())
            }
            #expect(error?.code == .system)
        }
    }

    @Test("a directory in place of the store is set aside")
    func directory() throws {
        let harness = try JournalHarness()
        harness.journal.close()
        for name in ["", "-wal"] { unlink(harness.directory.store + name) }
        mkdir(harness.directory.store, 0o700)
        try harness.reopen()
        #expect(harness.contents.damage.map { $0.contains("it is not a file") } == [true])
        #expect(try harness.append(harness.push("A")) == .new)
    }

    @Test("a second journal of this process is refused while the first is open")
    func inUseHere() throws {
        let harness = try JournalHarness()
        let error = #expect(throws: RingwakeError.self) {
            _ = try PushJournal(
                directory: harness.directory.path, runLoop: harness.loop, logger: .init(label: "test"),
                clocks: harness.clock.clocks())
        }
        #expect(error?.code == .inUse)
        #expect(try harness.append(harness.push("A")) == .new, "the first one goes on")
    }

    @Test("another process cannot read while the journal is open, and the journal cannot open while that writes")
    func inUseElsewhere() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"))
        let shell = try Shell(["/usr/bin/sqlite3", "-bail", harness.directory.store])
        shell.write("SELECT count(*) FROM push;\n")
        #expect(shell.readLine().contains("locked"))
        shell.end()

        harness.journal.close()
        let holder = try Shell(["/usr/bin/sqlite3", "-bail", harness.directory.store])
        holder.write("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; SELECT 'held';\n")
        #expect(holder.readLine() == "exclusive\n")
        #expect(holder.readLine() == "held\n")
        #expect(failure(opening: harness)?.code == .inUse)
        holder.end()
        try harness.reopen()
        #expect(try harness.append(harness.push("A")) == .repeated)
    }

    @Test("what is in the log when a process is gone is there at the next start")
    func logIsRead() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"), call: harness.call(1, "A"))
        // As after kill -9: the files as they are while the journal is open.
        let copy = try TemporaryDirectory()
        for name in ["store.db", "store.db-wal"] {
            try write(contents(of: "\(harness.directory.path)/\(name)"), to: "\(copy.path)/\(name)")
        }
        let journal = try PushJournal(
            directory: copy.path, runLoop: harness.loop, logger: .init(label: "test"), clocks: harness.clock.clocks())
        #expect(journal.takeContents().open.map(\.record.number) == [1])
        journal.close()
    }

    @Test("rows of boots that nothing is of any more go")
    func boots() throws {
        let harness = try JournalHarness()
        for boot in 2...9 { try harness.reopen(bootID: "boot-\(boot)") }
        harness.journal.close()
        #expect(try StoreProbe(harness.directory.store).number("SELECT count(*) FROM boot") == 1)
        try harness.reopen(bootID: "boot-9")
        _ = try harness.append(harness.push("A"))
        for boot in 10...12 { try harness.reopen(bootID: "boot-\(boot)") }
        harness.journal.close()
        #expect(try StoreProbe(harness.directory.store).number("SELECT count(*) FROM boot") == 4)
    }
}

/// A program that is written to and read from. Its standard error is its output.
final class Shell {
    private let input: Int32
    private let output: Int32
    private let pidfd: Int32

    init(_ command: [String]) throws {
        var inputs: [Int32] = [-1, -1]
        var outputs: [Int32] = [-1, -1]
        try #require(ringwake_pipe(&inputs, 0) == 0 && ringwake_pipe(&outputs, 0) == 0)
        let words = command.map { (word: String) in strdup(word) }
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        let result = ringwake_spawn(&process, words + [nil], [nil], inputs[0], outputs[1], outputs[1])
        close(inputs[0])
        close(outputs[1])
        (input, output) = (inputs[1], outputs[0])
        try #require(result == 0, "apt-get install sqlite3")
        pidfd = ringwake_pidfd_open(process)
    }

    func write(_ text: String) {
        _ = Glibc.write(input, text, text.utf8.count)
    }

    /// One line of output, or what there is at its end. Waits for half a minute at most.
    func readLine() -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.last != 0x0a {
            var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 30_000) > 0, read(output, &byte, 1) == 1 else { break }
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Ends its input and waits for it.
    func end() {
        close(input)
        var entry = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        if poll(&entry, 1, 30_000) == 0 { Issue.record("the program does not end") }
        var (code, status): (Int32, Int32) = (0, 0)
        ringwake_wait_child(true, pidfd, 0, &code, &status)
        close(pidfd)
        close(output)
    }
}

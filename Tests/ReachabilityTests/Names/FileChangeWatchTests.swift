import CRingwakeLinux
import Glibc
import RunLoop
import Testing

@testable import Reachability

@Suite("File change watch")
struct FileChangeWatchTests {
    /// A watch on files of a directory of its own, driven by the test.
    private final class Scene {
        let directory: TemporaryDirectory
        let loop: RunLoop
        private(set) var told = 0
        private(set) var watch: FileChangeWatch?

        init() throws {
            directory = try TemporaryDirectory()
            loop = try RunLoop(wakingFromSuspend: false)
        }

        func begin(_ names: String...) throws {
            watch = try FileChangeWatch(runLoop: loop, paths: names.map(directory.file)) { [weak self] in
                self?.told += 1
            }
        }

        /// How often it is told of what the body does; and whether the loop comes to rest then.
        func changes(_ body: () throws -> Void) throws -> Int {
            let before = told
            try body()
            loop.runOnce(timeout: .zero)
            #expect(loop.turn { watch?.isSettling == false })
            // No work, and no kernel timer of a wait that is over.
            #expect(loop.prepareToWait() && !loop.isReady)
            return told - before
        }

        /// Whether what the body does wakes the loop.
        func wakes(_ body: () throws -> Void) throws -> Bool {
            try body()
            return loop.isReady
        }

        func close() {
            watch?.close()
        }
    }

    @Test("a file that is written in place, replaced, or removed and made again is told")
    func regularFile() throws {
        let scene = try Scene()
        try scene.directory.write("a", to: "file")
        try scene.begin("file")
        #expect(try scene.changes {} == 0)
        #expect(try scene.changes { try scene.directory.write("b", to: "file") } == 1)
        #expect(try scene.changes { try scene.directory.replace("file", with: "c") } == 1)
        #expect(try scene.changes { try scene.directory.write("d", to: "file") } == 1)
        #expect(try scene.changes { try scene.directory.remove("file") } == 1)
        #expect(try scene.changes { try scene.directory.write("e", to: "file") } == 1)
        #expect(try scene.changes { try scene.directory.move("file", to: "elsewhere") } == 1)
        #expect(try scene.changes { try scene.directory.move("elsewhere", to: "file") } == 1)
        #expect(try scene.changes { try scene.directory.write("f", to: "file") } == 1)
    }

    @Test("other files of the directory wake nobody, and neither does reading")
    func otherFiles() throws {
        let scene = try Scene()
        try scene.directory.write("a", to: "file")
        try scene.begin("file")
        func others() throws {
            try scene.directory.write("x", to: "other")
            try scene.directory.replace("other", with: "y")
            try scene.directory.remove("other")
            _ = ResolverConfiguration(path: scene.directory.file("file"))
        }
        #expect(try !scene.wakes(others))
        // Nor after it was missing for a while.
        #expect(try scene.changes { try scene.directory.remove("file") } == 1)
        #expect(try scene.wakes(others))
        #expect(try scene.changes {} == 0)
        #expect(try scene.changes { try scene.directory.write("b", to: "file") } == 1)
        #expect(try !scene.wakes(others))
    }

    @Test("a symbolic link that is swapped, and the file behind it")
    func symbolicLink() throws {
        let scene = try Scene()
        try scene.directory.write("a", to: "one")
        try scene.directory.write("b", to: "two")
        try scene.directory.link("file", to: "one")
        try scene.begin("file")
        #expect(try scene.changes { try scene.directory.write("c", to: "one") } == 1)
        #expect(try !scene.wakes { try scene.directory.write("d", to: "two") })
        #expect(
            try scene.changes {
                try scene.directory.link("new", to: scene.directory.file("two"))
                try scene.directory.move("new", to: "file")
            } == 1)
        #expect(try scene.changes { try scene.directory.write("e", to: "two") } == 1)
        #expect(try !scene.wakes { try scene.directory.write("f", to: "one") })
        #expect(
            try scene.changes {
                try scene.directory.remove("file")
                try scene.directory.write("g", to: "file")
            } == 1)
        #expect(try !scene.wakes { try scene.directory.write("h", to: "two") })
    }

    @Test("a link to a directory on the way that is swapped")
    func linkedDirectory() throws {
        let scene = try Scene()
        try scene.directory.makeDirectory("v1")
        try scene.directory.makeDirectory("v2")
        try scene.directory.write("a", to: "v1/file")
        try scene.directory.write("b", to: "v2/file")
        try scene.directory.link("current", to: "v1")
        try scene.directory.link("file", to: "./current/../current/file")
        try scene.begin("file")
        #expect(
            try scene.changes {
                try scene.directory.link("new", to: "v2")
                try scene.directory.move("new", to: "current")
            } == 1)
        #expect(try scene.changes { try scene.directory.write("c", to: "v2/file") } == 1)
        #expect(try !scene.wakes { try scene.directory.write("d", to: "v1/file") })
    }

    @Test("a file that is missing, with the directories that lead to it, is told when it is there")
    func missingDirectories() throws {
        let scene = try Scene()
        try scene.directory.link("file", to: "run/resolve/file")
        try scene.begin("file")
        #expect(try scene.changes { try scene.directory.write("x", to: "other") } == 0)
        #expect(try scene.changes { try scene.directory.makeDirectory("run") } == 0)
        #expect(try scene.changes { try scene.directory.makeDirectory("run/resolve") } == 0)
        #expect(try scene.changes { try scene.directory.write("a", to: "run/resolve/file") } == 1)
        #expect(try scene.changes { try scene.directory.write("b", to: "run/resolve/file") } == 1)
        #expect(
            try scene.changes {
                try scene.directory.remove("run/resolve/file")
                rmdir(scene.directory.file("run/resolve"))
                rmdir(scene.directory.file("run"))
            } == 1)
        #expect(
            try scene.changes {
                try scene.directory.makeDirectory("run")
                try scene.directory.makeDirectory("run/resolve")
                try scene.directory.write("c", to: "run/resolve/file")
            } == 1)
    }

    @Test("links in a circle lead nowhere, until one of them is changed")
    func circle() throws {
        let scene = try Scene()
        try scene.directory.link("file", to: "other")
        try scene.directory.link("other", to: "file")
        try scene.begin("file")
        try scene.directory.write("a", to: "new")
        #expect(try scene.changes { try scene.directory.move("new", to: "other") } == 1)
        #expect(try scene.changes { try scene.directory.write("b", to: "other") } == 1)
    }

    @Test("two files, one of them missing in the directory of the other")
    func twoFiles() throws {
        let scene = try Scene()
        try scene.directory.write("a", to: "one")
        try scene.begin("one", "two", "three")
        #expect(
            try scene.changes {
                try scene.directory.write("b", to: "one")
                try scene.directory.write("b", to: "two")
            } == 1)
        #expect(try scene.changes { try scene.directory.write("c", to: "two") } == 1)
        #expect(try scene.changes { try scene.directory.write("c", to: "three") } == 1)
        #expect(try !scene.wakes { try scene.directory.write("x", to: "other") })
    }

    @Test("what happens while it settles is told once, after it")
    func coalesce() throws {
        let scene = try Scene()
        try scene.directory.write("a", to: "file")
        try scene.begin("file")
        for _ in 0..<20 { try scene.directory.write("b", to: "file") }
        scene.loop.runOnce(timeout: .zero)
        #expect(scene.told == 1)
        for _ in 0..<20 { try scene.directory.replace("file", with: "c") }
        #expect(!scene.loop.isReady)
        #expect(try scene.changes {} == 1)
    }

    @Test("a half-written file is looked at again when its writer goes on without closing it")
    func halfWritten() throws {
        let scene = try Scene()
        try scene.directory.write("a", to: "file")
        try scene.begin("file")
        let file = try #require(fopen(scene.directory.file("file"), "w"))
        fputs("half", file)
        fflush(file)
        // Opening with truncation has no event of those that are watched; this has.
        chmod(scene.directory.file("file"), 0o640)
        scene.loop.runOnce(timeout: .zero)
        #expect(scene.told == 1)
        fputs("whole", file)
        fflush(file)
        #expect(scene.loop.turn { scene.told == 2 })
        #expect(try scene.changes { fclose(file) } == 1)
    }

    @Test("what it wakes for is counted as the resolver")
    func cause() throws {
        let scene = try Scene()
        try scene.directory.write("a", to: "file")
        try scene.begin("file")
        // Writes again and again, until it comes while the loop sleeps.
        let script = "while sleep 0.2; do echo b > \(scene.directory.file("file")); done"
        let words = ["/bin/sh", "-c", script].map { (word: String) in strdup(word) }
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        #expect(ringwake_spawn(&process, words + [nil], ringwake_environment(), 0, 1, 2) == 0)
        defer {
            kill(-process, SIGKILL)
            waitpid(process, nil, 0)
        }
        #expect(scene.loop.turn { scene.loop.statistics.byCause.keys.contains { $0.name == "resolver" } })
        #expect(scene.told > 0)
    }

    @Test("closed, also by the callback: nothing is told after it")
    func closeFromCallback() throws {
        let directory = try TemporaryDirectory()
        let loop = try RunLoop(wakingFromSuspend: false)
        try directory.write("a", to: "file")
        var told = 0
        var watch: FileChangeWatch?
        watch = try FileChangeWatch(runLoop: loop, paths: [directory.file("file")]) {
            told += 1
            watch?.close()
            watch?.close()
        }
        try directory.write("b", to: "file")
        loop.runOnce(timeout: .zero)
        try directory.write("c", to: "file")
        loop.runOnce(timeout: .milliseconds(200))
        #expect(told == 1)
        watch = nil
        #expect(!loop.isReady)
    }

    @Test("an overflow of the kernel's queue is told, and what comes after it as well")
    func overflow() throws {
        let scene = try Scene()
        for name in ["one", "two"] { try scene.directory.write("a", to: name) }
        try scene.begin("one", "two")
        // Events that repeat the last one are joined by the kernel.
        for _ in 0..<10_000 { for name in ["one", "two"] { chmod(scene.directory.file(name), 0o640) } }
        #expect(try scene.changes {} >= 1)
        #expect(try scene.changes { try scene.directory.write("b", to: "one") } == 1)
    }

    @Test("without watches to be had it cannot be made, and says what to raise")
    func noWatches() throws {
        let loop = try RunLoop(wakingFromSuspend: false)
        let error = #expect(throws: ReachabilityError.self) {
            try FileChangeWatch(
                runLoop: loop, paths: ["/etc/hosts"],
                addWatch: { _, _, _ in
                    errno = ENOSPC
                    return -1
                }, onChange: {})
        }
        #expect(error?.code == .system)
        #expect(error?.errno == ENOSPC)
        #expect(error?.message.contains("fs.inotify.max_user_watches") == true)
    }

    @Test("that watches have run out later is told with the change, and mended with the next")
    func watchesRunOut() throws {
        let directory = try TemporaryDirectory()
        let loop = try RunLoop(wakingFromSuspend: false)
        try directory.write("a", to: "one")
        try directory.write("a", to: "two")
        let missing = directory.file("two")
        var isExhausted = false
        var told = 0
        let watch = try FileChangeWatch(
            runLoop: loop, paths: [directory.file("one"), missing],
            addWatch: { inotify, path, mask in
                guard isExhausted, path == missing else { return inotify_add_watch(inotify, path, mask) }
                errno = ENOSPC
                return -1
            },
            onChange: { told += 1 })
        #expect(watch.problem == nil)
        isExhausted = true
        try directory.replace("two", with: "b")
        loop.runOnce(timeout: .zero)
        #expect(told == 1)
        #expect(watch.problem?.errno == ENOSPC)
        #expect(loop.turn { !watch.isSettling })
        isExhausted = false
        try directory.write("b", to: "one")
        loop.runOnce(timeout: .zero)
        #expect(watch.problem == nil)
        #expect(loop.turn { !watch.isSettling })
        try directory.write("c", to: "two")
        #expect(loop.isReady)
        watch.close()
    }

    @Test("a file that may not be read is told when it may")
    func unreadable() throws {
        let directory = try TemporaryDirectory()
        let loop = try RunLoop(wakingFromSuspend: false)
        try directory.write("a", to: "file")
        let file = directory.file("file")
        // Root may read everything, so that the kernel's refusal is made up.
        var isReadable = false
        var told = 0
        let watch = try FileChangeWatch(
            runLoop: loop, paths: [file],
            addWatch: { inotify, path, mask in
                guard path == file, !isReadable else { return inotify_add_watch(inotify, path, mask) }
                errno = EACCES
                return -1
            },
            onChange: { told += 1 })
        isReadable = true
        chmod(file, 0o644)
        loop.runOnce(timeout: .zero)
        #expect(told == 1)
        #expect(loop.turn { !watch.isSettling })
        try directory.write("b", to: "file")
        loop.runOnce(timeout: .zero)
        #expect(told == 2)
        watch.close()
    }

    @Test("paths that no file can have are watched without harm", arguments: ["", "a\0b", "/", "//"])
    func oddPaths(_ path: String) throws {
        let loop = try RunLoop(wakingFromSuspend: false)
        let watch = try FileChangeWatch(runLoop: loop, paths: [path]) {}
        watch.close()
    }
}

import FoundationEssentials
import Logging
import RingwakeCore
import Testing

@testable import RingwakeDaemon

/// Moving the state that an earlier version's user unit kept among the configuration.
@Suite("Former state")
final class FormerStateTests {
    private let directory =
        FileManager.default.temporaryDirectory.path + "/former-state-\(UInt64.random(in: 0...UInt64.max))"
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    @Test func `the state moves with its files, and the configuration stays`() throws {
        try make("config", ["ringwaked.toml", "apps.d", "tokens.json", "store.db", "store.db-wal", "callers.index.1"])
        try move()
        #expect(try names("config") == ["apps.d", "ringwaked.toml"])
        #expect(try names("state") == ["callers.index.1", "lock", "store.db", "store.db-wal", "tokens.json"])
        #expect(try names("") == ["config", "state"])
    }

    @Test func `a move that a crash interrupted is completed`() throws {
        try make("config", ["ringwaked.toml", "store.db-wal"])
        try make("state.moving", ["tokens.json", "store.db"])
        try make("state", [])
        try move()
        #expect(try names("config") == ["ringwaked.toml"])
        #expect(try names("state") == ["lock", "store.db", "store.db-wal", "tokens.json"])
    }

    @Test func `newer state is never replaced`() throws {
        try make("config", ["ringwaked.toml", "tokens.json", "store.db"])
        try make("state", ["tokens.json"])
        try move()
        #expect(try names("config") == ["ringwaked.toml", "store.db", "tokens.json"])
        #expect(try names("state") == ["tokens.json"])
    }

    @Test func `without former state nothing is made`() throws {
        try make("config", ["ringwaked.toml", "apps.d"])
        try move()
        #expect(try names("") == ["config"])
        #expect(try names("config") == ["apps.d", "ringwaked.toml"])
    }

    @Test func `the state of a daemon that runs is left to it`() throws {
        try make("config", ["tokens.json", "store.db"])
        let lock = try Daemon.lock(directory + "/config")
        defer { withExtendedLifetime(lock) {} }
        #expect { try move() } throws: { ($0 as? RingwakeError)?.code == .inUse }
        #expect(try names("config") == ["lock", "store.db", "tokens.json"])
    }

    private func move() throws {
        try FormerState(former: directory + "/config", current: directory + "/state").move(logger)
    }

    private func make(_ folder: String, _ files: [String]) throws {
        let path = directory + "/" + folder
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for file in files {
            #expect(FileManager.default.createFile(atPath: path + "/" + file, contents: Data(file.utf8)))
        }
    }

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory + "/" + folder).sorted()
    }
}

@testable import CallAudio
import DBus
import Glibc
import Logging
import RunLoop
import Testing

/// A session bus of the test's own with media players on it, in a folder of its own.
final class PlayerBus {
    let runLoop: RunLoop
    let folder: String
    let players: MPRISPlayers
    private(set) var daemon: TestProgram?
    private var programs: [TestProgram] = []
    private var marks = 0

    var address: String { "unix:path=\(folder)/bus" }

    init(isStarted: Bool = true) throws {
        runLoop = try RunLoop()
        var template = Array("/tmp/ringwake-players-XXXXXX".utf8CString)
        folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        players = MPRISPlayers(
            environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder)/bus"], runLoop: runLoop,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let file = try #require(fopen(folder + "/player.py", "w"))
        fputs(PlayerScript.text, file)
        fclose(file)
        if isStarted { try start() }
    }

    func start() throws {
        let daemon = try TestProgram(
            ["/usr/bin/dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address", "--address", address],
            environment: [], runLoop)
        self.daemon = daemon
        try #require(drive { daemon.output.contains("\n") }, "\(daemon.output)")
    }

    func killBus() {
        daemon?.stop()
        daemon = nil
    }

    /// A player in Python, which has its names when this returns.
    func play(_ behaviour: PlayerScript.Behaviour = .good, _ names: String...) throws -> TestProgram {
        let names = names.map { "org.mpris.MediaPlayer2.\($0)" }
        let program = try TestProgram(
            ["/usr/bin/python3", folder + "/player.py", behaviour.rawValue, address] + names, environment: [], runLoop)
        programs.append(program)
        try #require(drive { program.output.contains("ready") }, "\(program.output)")
        return program
    }

    /// Any other program on this bus.
    func run(_ arguments: [String]) throws -> TestProgram {
        let program = try TestProgram(
            arguments, environment: ["DBUS_SESSION_BUS_ADDRESS=\(address)", "HOME=\(folder)"], runLoop)
        programs.append(program)
        return program
    }

    func stop() {
        players.close()
        for program in programs { program.stop() }
        killBus()
        for file in ["bus", "player.py"] { unlink("\(folder)/\(file)") }
        rmdir(folder)
    }

    /// Turns the loop until the condition holds; false when it does not within the limit.
    func drive(until condition: () -> Bool) -> Bool { runLoop.drive(until: condition) }

    /// Turns the loop until the answer has come.
    func answer<Answer>(_ body: (@escaping (Answer) -> Void) -> Void) throws -> Answer {
        var answer: Answer?
        body { answer = $0 }
        // Never from within the call itself.
        #expect(answer == nil)
        _ = drive { answer != nil }
        return try #require(answer)
    }

    func playing() throws -> [MediaPlayer] { try answer { players.playing(completion: $0) } }

    func pause(_ found: [MediaPlayer]) throws -> [MediaPlayer] { try answer { players.pause(found, completion: $0) } }

    func resume(_ paused: [MediaPlayer]) throws -> MediaPlayerAnswers {
        try answer { players.resume(paused, completion: $0) }
    }

    /// Waits until the player has said the line. Its answer on the bus can arrive before what it wrote first is read.
    func requireLine(_ line: String, from player: TestProgram, _ place: SourceLocation = #_sourceLocation) throws {
        try #require(drive { player.lines.contains(line) }, "\(player.lines)", sourceLocation: place)
    }

    /// All that the player has said, asked once it has dealt with everything that it was sent before.
    func allLines(of player: TestProgram, _ place: SourceLocation = #_sourceLocation) throws -> [String] {
        marks += 1
        let mark = "mark-\(marks)"
        player.tell("say \(mark)")
        try requireLine(mark, from: player, place)
        return player.lines.filter { !$0.hasPrefix("mark-") }
    }
}

extension TestProgram {
    /// The whole lines that it wrote so far.
    var lines: [String] {
        output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
}

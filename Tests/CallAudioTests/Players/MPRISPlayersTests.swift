@testable import CallAudio
import DBus
import Glibc
import RunLoop
import Testing

@Suite(.serialized)
struct MPRISPlayersTests {
    @Test("a player that plays is found, with who it is and what it plays; one that is paused is not")
    func found() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let one = try bus.play(.good, "one")
        let two = try bus.play(.good, "two")
        two.tell("become Paused")
        try bus.requireLine("is Paused", from: two)
        let found = try bus.playing()
        #expect(found.map(\.name) == ["org.mpris.MediaPlayer2.one"])
        #expect(found.first?.process == one.pid)
        #expect(found.first?.track == "/track/1")
    }

    @Test(
        "each of them is paused by Pause, and plays on by Play",
        arguments: [
            PlayerScript.Behaviour.good, .quiet, .invalidating, .huge,
        ])
    func pausedAndResumed(behaviour: PlayerScript.Behaviour) throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let player = try bus.play(behaviour, "one")
        let found = try bus.playing()
        #expect(found.count == 1)
        #expect(try bus.pause(found) == found)
        // It says so on its output after it has told the bus.
        try #require(bus.drive { player.lines.count == 3 })
        #expect(player.lines == ["ready", "Pause", "is Paused"])
        #expect(try bus.playing().isEmpty)
        #expect(try bus.resume(found).resumed.count == 1)
        try #require(bus.drive { player.lines.count == 5 })
        #expect(player.lines.suffix(2) == ["Play", "is Playing"])
    }

    @Test(
        "one that takes the order and plays on for now is resumed once it is paused",
        arguments: [PlayerScript.Behaviour.deaf, .stopping])
    func late(behaviour: PlayerScript.Behaviour) throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let player = try bus.play(behaviour, "one")
        let found = try bus.playing()
        var changes: [MediaPlayerChange] = []
        bus.players.onChange = { changes.append($1) }
        bus.players.watch(found, paused: [])
        #expect(try bus.pause(found) == found)
        try bus.requireLine("Pause", from: player)
        let isDeaf = behaviour == .deaf
        #expect(try bus.resume(found) == MediaPlayerAnswers(playing: isDeaf ? found : []))
        guard isDeaf else { return }
        player.tell("become Paused")
        try #require(bus.drive { changes == [.paused] })
        #expect(try bus.resume(found) == MediaPlayerAnswers(resumed: found))
    }

    @Test("one that hangs has the order, which it carries out later; one that leaves the bus is told of")
    func hangingLater() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let player = try bus.play(.good, "one")
        let found = try bus.playing()
        var changes: [MediaPlayerChange] = []
        bus.players.onChange = { changes.append($1) }
        bus.players.watch(found, paused: [])
        // It answers the questions, and hangs before the order.
        let hung = try bus.play(.hangingAtPause, "two")
        let both = try bus.playing()
        #expect(both.count == 2)
        #expect(try bus.pause(both) == both)
        try bus.requireLine("is Paused", from: player)
        let answers = try bus.resume(both)
        #expect(answers.resumed == found && answers.silent == both.filter { !found.contains($0) })
        bus.players.watch([], paused: [])
        bus.players.watch(both, paused: [])
        kill(hung.pid, SIGCONT)
        try #require(bus.drive { hung.lines.contains("is Paused") })
        #expect(try bus.resume(answers.silent).resumed == answers.silent)
        changes = []
        player.stop()
        #expect(bus.drive { changes.contains(.gone) })
    }

    @Test("while the bus does not answer, nothing is known of them: they are resumed once it does")
    func hangingBus() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let player = try bus.play(.good, "one")
        let found = try bus.playing()
        #expect(try bus.pause(found) == found)
        try bus.requireLine("is Paused", from: player)
        let daemon = try #require(bus.daemon)
        kill(daemon.pid, SIGSTOP)
        let answers = try bus.resume(found)
        kill(daemon.pid, SIGCONT)
        #expect(answers == MediaPlayerAnswers(silent: found))
        #expect(try bus.resume(found).resumed == found)
    }

    @Test("one that refuses to be paused is not paused")
    func refusing() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let player = try bus.play(.refusing, "one")
        #expect(try bus.pause(bus.playing()).isEmpty)
        try bus.requireLine("Pause", from: player)
    }

    @Test("one that cannot be paused is not told to")
    func cannotPause() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let player = try bus.play(.steady, "one")
        let found = try bus.playing()
        #expect(found.count == 1)
        #expect(try bus.pause(found).isEmpty)
        #expect(try bus.allLines(of: player) == ["ready"])
    }

    @Test("one that hangs, or says nonsense, holds up nobody", arguments: [PlayerScript.Behaviour.hanging, .wrong])
    func hanging(behaviour: PlayerScript.Behaviour) throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let bad = try bus.play(behaviour, "a")
        let good = try bus.play(.good, "b")
        let found = try bus.playing()
        #expect(found.map(\.name) == ["org.mpris.MediaPlayer2.b"])
        let other = MediaPlayer(
            name: "org.mpris.MediaPlayer2.a", owner: found.first?.owner ?? "", process: bad.pid, track: nil)
        #expect(try bus.pause(found + [other]) == found)
        try bus.requireLine("is Paused", from: good)
        #expect(try bus.resume(found + [other]).resumed.count == 1)
        try #require(bus.drive { good.lines.contains("Play") })
        #expect(try bus.allLines(of: bad) == ["ready"])
    }

    @Test(
        "one whose metadata cannot be had is known by its connection",
        arguments: [
            PlayerScript.Behaviour.forgetful, .enormous,
        ])
    func withoutMetadata(behaviour: PlayerScript.Behaviour) throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let player = try bus.play(behaviour, "one")
        let found = try bus.playing()
        #expect(found.map(\.process) == [player.pid])
        #expect(found.map(\.track) == [nil])
        #expect(try bus.pause(found) == found)
    }

    @Test("what the user played, stopped or changed meanwhile stays")
    func changedMeanwhile() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let player = try bus.play(.good, "one")
        let found = try bus.playing()
        #expect(try bus.pause(found) == found)
        try bus.requireLine("is Paused", from: player)
        player.tell("track /track/2")
        try bus.requireLine("track", from: player)
        #expect(try bus.resume(found).resumed.isEmpty)
        player.tell("track /track/1")
        player.tell("become Stopped")
        try bus.requireLine("is Stopped", from: player)
        #expect(try bus.resume(found).resumed.isEmpty)
        player.tell("become Playing")
        try bus.requireLine("is Playing", from: player)
        #expect(try bus.resume(found).resumed.isEmpty)
        #expect(try !bus.allLines(of: player).contains("Play"))
        player.tell("become Paused")
        try #require(bus.drive { player.lines.last == "is Paused" }, "\(player.lines)")
        #expect(try bus.resume(found).resumed.count == 1)
    }

    @Test("another program under the same name is another player")
    func anotherOwner() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let first = try bus.play(.good, "one")
        let found = try bus.playing()
        #expect(try bus.pause(found) == found)
        first.tell("release")
        try bus.requireLine("released", from: first)
        let second = try bus.play(.good, "one")
        second.tell("become Paused")
        try bus.requireLine("is Paused", from: second)
        #expect(try bus.resume(found).resumed.isEmpty)
        #expect(try bus.pause(found).isEmpty)
        for player in [first, second] { #expect(try !bus.allLines(of: player).contains("Play")) }
    }

    @Test("a bus that was started anew knows no player of the former one")
    func anotherBus() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        _ = try bus.play(.good, "one")
        let found = try bus.playing()
        #expect(try bus.pause(found) == found)
        bus.killBus()
        try bus.start()
        // The names of connections start from the beginning, so one of these has the former one's.
        var programs: [TestProgram] = []
        for _ in 1...3 {
            let again = try bus.play(.good, "one")
            again.tell("become Paused")
            try bus.requireLine("is Paused", from: again)
            programs.append(again)
        }
        #expect(try bus.resume(found).resumed.isEmpty)
        for player in programs { #expect(try !bus.allLines(of: player).contains("Play")) }
        programs[0].tell("become Playing")
        try bus.requireLine("is Playing", from: programs[0])
        #expect(try bus.playing().count == 1)
    }

    @Test("one with two names is one player")
    func twoNames() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let player = try bus.play(.good, "one", "one.instance7")
        let found = try bus.playing()
        #expect(found.map(\.name) == ["org.mpris.MediaPlayer2.one"])
        #expect(try bus.pause(found) == found)
        try bus.requireLine("is Paused", from: player)
        #expect(try bus.allLines(of: player).count { $0 == "Pause" } == 1)
    }

    @Test("the one that speaks for others is left alone")
    func proxy() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        _ = try bus.play(.good, "playerctld")
        #expect(try bus.playing().isEmpty)
    }

    @Test("no more than so many are dealt with")
    func many() throws {
        let names = (0..<200).map { DBusValue.string("org.mpris.MediaPlayer2.p\($0)") }
        #expect(MPRISPlayers.players(among: names + [.int32(1), .string("org.example.Other")]).count == 64)
    }

    @Test("without a bus there are no players")
    func noBus() throws {
        let bus = try PlayerBus(isStarted: false)
        defer { bus.stop() }
        #expect(try bus.playing().isEmpty)
        let player = MediaPlayer(name: "org.mpris.MediaPlayer2.a", owner: ":1.1@x", process: nil, track: nil)
        #expect(try bus.pause([player]).isEmpty)
        #expect(try bus.resume([player]).resumed.isEmpty)
        #expect(try bus.pause([]).isEmpty)
    }

    @Test("a bus that goes away in between is none, and the next one is found")
    func busLost() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        _ = try bus.play(.hanging, "one")
        var found: [MediaPlayer]?
        bus.players.playing { found = $0 }
        bus.killBus()
        try #require(bus.drive { found != nil })
        #expect(found == [])
        try bus.start()
        _ = try bus.play(.good, "one")
        #expect(try bus.playing().count == 1)
    }

    @Test("nothing is told after the end")
    func closed() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        _ = try bus.play(.good, "one")
        var isTold = false
        bus.players.playing { _ in isTold = true }
        bus.players.close()
        bus.players.playing { _ in isTold = true }
        bus.runLoop.drive(for: .milliseconds(600))
        #expect(!isTold)
    }

    @Test(
        "one that is watched is told of when it plays again, once, and not when it is not watched any more",
        arguments: [PlayerScript.Behaviour.good, .invalidating, .slow])
    func watched(behaviour: PlayerScript.Behaviour) throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let player = try bus.play(behaviour, "one")
        let other = try bus.play(.good, "two")
        let found = try bus.playing()
        let paused = try bus.pause(found)
        var told: [String] = []
        bus.players.onChange = { if $1 == .playing { told.append($0.name) } }
        bus.players.watch(paused, paused: [])
        // A slow one plays on at first: that was nobody's hand.
        try #require(bus.drive { player.lines.contains("is Paused") })
        bus.runLoop.drive(for: .milliseconds(50))
        #expect(told.isEmpty)
        player.tell("become Playing")
        #expect(bus.drive { told == ["org.mpris.MediaPlayer2.one"] })
        player.tell("become Paused")
        player.tell("become Playing")
        bus.players.watch(paused.filter { $0.name != "org.mpris.MediaPlayer2.two" }, paused: [])
        other.tell("become Playing")
        try #require(bus.drive { player.lines.count >= 6 && other.lines.contains("is Playing") })
        bus.runLoop.drive(for: .milliseconds(50))
        #expect(told == ["org.mpris.MediaPlayer2.one"])
        // One that played before anybody listened.
        bus.players.watch([], paused: [])
        bus.players.watch(paused, paused: Set(paused))
        if behaviour == .good { #expect(bus.drive { told.count == 3 }, "\(told)") }
    }

    @Test("between steps nobody is woken, whatever players do")
    func idle() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let player = try bus.play(.good, "one")
        #expect(try bus.pause(try bus.playing()).count == 1)
        // What the steps themselves brought may still be on the way.
        var before = bus.runLoop.statistics.byCause[WakeupCause("dbus-session")]
        for _ in 0..<50 {
            bus.runLoop.drive(for: .milliseconds(100))
            let now = bus.runLoop.statistics.byCause[WakeupCause("dbus-session")]
            if now == before { break }
            before = now
        }
        for _ in 0..<10 { player.tell("become Paused") }
        try #require(bus.drive { player.lines.count >= 13 })
        #expect(bus.runLoop.statistics.byCause[WakeupCause("dbus-session")] == before)
    }

    @Test(
        "mpv is paused and plays on",
        .enabled(if: access("/usr/bin/mpv", X_OK) == 0 && access("/etc/mpv/scripts/mpris.so", R_OK) == 0))
    func mpv() throws {
        let bus = try PlayerBus()
        defer { bus.stop() }
        let mpv = try bus.run([
            "/usr/bin/mpv", "--no-config", "--script=/etc/mpv/scripts/mpris.so", "--ao=null", "--vo=null",
            "--no-video", "--no-terminal", "av://lavfi:sine=duration=600",
        ])
        // It plays before it has told which track that is.
        var found: [MediaPlayer] = []
        try #require(
            bus.drive {
                let before = found
                found = (try? bus.playing()) ?? []
                bus.runLoop.drive(for: .milliseconds(200))
                return !found.isEmpty && found == before
            }, "\(mpv.output)")
        #expect(found.first?.process == mpv.pid)
        #expect(found.first?.track != nil)
        #expect(try bus.pause(found) == found)
        try #require(bus.drive { (try? bus.playing())?.isEmpty == true })
        #expect(try bus.resume(found).resumed.count == 1)
        try #require(
            bus.drive {
                var answer: [MediaPlayer]?
                bus.players.playing { answer = $0 }
                _ = bus.drive { answer != nil }
                return answer == found
            })
    }
}

@testable import CallAudio
import FileSystem
import Glibc
import RingwakeCore
import Testing

/// The file that outlives a crash.
struct EffectJournalTests {
    private let folder: String
    private var path: String { folder + "/state/effects.json" }

    init() throws {
        var template = Array("/tmp/ringwake-journal-XXXXXX".utf8CString)
        folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    }

    private func cleaningUp(_ body: () throws -> Void) rethrows {
        defer {
            for name in ["effects.json", "effects.json.lock", "effects.json.damaged"] {
                unlink("\(folder)/state/\(name)")
            }
            rmdir(folder + "/state")
            rmdir(folder)
        }
        try body()
    }

    private func ledger() throws -> EffectLedger {
        var bench = EffectBench()
        bench.image.addBluetooth()
        bench.image.sources[2]?.isMuted = true
        bench.image.play(5, process: 300, kind: "music")
        bench.image.play(6, process: 100, sink: 70)
        bench.image.record(7, process: 200)
        var plan = try AudioPlan.call(others: .duck, isSpeakerForced: true)
        plan.silenced = [.other: AudioClient(processes: [200], name: "")]
        bench.apply(plan)
        let player = MediaPlayer(name: "p", owner: ":1.5", process: 1, track: "/track")
        bench.ledger.addPlayers([player], boot: EffectLedger.presentBoot)
        bench.ledger.notePaused(player)
        #expect(bench.ledger.records.count >= 4)
        return bench.ledger
    }

    @Test("What is written is found by the next one, all of it; nothing in force is no file")
    func roundTrip() throws {
        try cleaningUp {
            let ledger = try ledger()
            do {
                let journal = try EffectJournal(path: path)
                #expect(journal.found.isEmpty && !FileSystem.exists(path))
                #expect(!journal.written.covers(ledger))
                try journal.write(ledger)
                #expect(journal.written.covers(ledger))
            }
            let journal = try EffectJournal(path: path)
            #expect(journal.found == ledger)
            #expect(journal.damage == nil)
            try journal.write(EffectLedger())
            #expect(!FileSystem.exists(path))
            try journal.write(EffectLedger())
        }
    }

    @Test("A record with another value before is not covered, nor is a kind or a player that is new")
    func coverage() throws {
        try cleaningUp {
            let ledger = try ledger()
            let journal = try EffectJournal(path: path)
            try journal.write(ledger)
            var other = ledger
            let image = AudioServerImage.notebook()
            var record = try #require(ledger[.playingVolume(5)])
            record.before = .volume([1, 1])
            other.insert(record, in: image)
            #expect(!journal.written.covers(other))
            other = ledger
            other.kinds["new"] = .init(before: nil, isListed: true)
            other.kinds["music"]?.before = StoredStream(name: "", volume: [], channels: [], isMuted: true, device: nil)
            #expect(!journal.written.covers(other))
            other = ledger
            other.addPlayers([MediaPlayer(name: "p", owner: ":1.6", process: 1, track: "/track")], boot: nil)
            #expect(!journal.written.covers(other))
            other = ledger
            other.remove(.playingVolume(5))
            other.setOwners([], of: .recordingMute(7))
            #expect(journal.written.covers(other))
        }
    }

    @Test("A file that is cut off anywhere, or has one byte changed, is set aside and told, and effects are none")
    func damage() throws {
        try cleaningUp {
            let ledger = try ledger()
            try EffectJournal(path: path).write(ledger)
            let whole = try FileSystem.read(path, maximumSize: 1 << 20)
            var files = stride(from: 0, to: whole.count - 1, by: 401).map { Array(whole[..<$0]) }
            files += stride(from: 130, to: whole.count - 1, by: 307).map { index in
                var bytes = whole
                bytes[index] ^= 1
                return bytes
            }
            // It is JSON still, and says another volume.
            let text = String(decoding: whole, as: UTF8.self)
            files.append(Array(text.replacing("65536", with: "65537").utf8))
            for bytes in files {
                try FileSystem.replace(path, with: bytes, mode: 0o600)
                let journal = try EffectJournal(path: path)
                #expect(journal.found.isEmpty, "\(bytes.count)")
                #expect(journal.damage?.contains(path + ".damaged") == true)
                #expect(!FileSystem.exists(path))
                #expect(try FileSystem.read(path + ".damaged", maximumSize: 1 << 20) == bytes)
                try journal.write(ledger)
                try FileSystem.remove(path + ".damaged")
            }
        }
    }

    @Test("It is set aside under a name that is free, whatever has the others; when all are taken, it replaces a file")
    func damagedBefore() throws {
        try cleaningUp {
            _ = try EffectJournal(path: path)
            let names = (0..<EffectJournalFile.maximumAside).map { path + ".damaged" + ($0 == 0 ? "" : ".\($0)") }
            // A folder with something in it is replaced by nothing.
            for folder in [path, names[0], names[1]] {
                mkdir(folder, 0o700)
                try FileSystem.replace(folder + "/inside", with: [], mode: 0o600)
            }
            defer {
                for name in names {
                    unlink(name + "/inside")
                    rmdir(name)
                    unlink(name)
                }
            }
            #expect(try EffectJournal(path: path).damage?.contains(names[2] + " now") == true)
            #expect(FileSystem.exists(names[2] + "/inside") && !FileSystem.exists(path))
            for number in 3..<names.count + 2 {
                try FileSystem.replace(path, with: [UInt8(number)], mode: 0o600)
                let journal = try EffectJournal(path: path)
                let name = number < names.count ? names[number] : names[3]
                #expect(journal.damage?.contains(name + " now") == true)
                #expect(try FileSystem.read(name, maximumSize: 10) == [UInt8(number)])
            }
        }
    }

    /// From before mutes of the user's were told apart, and players that had paused.
    private static let earlier = #"""
        {"bytes":846,"checksum":"19ae1341d9017d2","format":"ringwake audio effects","version":1}
        {"baseline":{"cookie":3516535020,"playing":58,"recording":0},"boot":"683d46e3-a589-45eb-ab\#
        68-4807a78b13be\n","kinds":{"sink-input-by-media-role:music":{"gone":[],"isListed":false,"\#
        last":[{"before":{"muted":{"_0":false}},"channels":[1,2],"cookie":3516535020,"isTaken":fal\#
        se,"owners":[{"number":17}],"restoreID":"sink-input-by-media-role:music","set":{"muted":{"\#
        _0":true}},"target":{"playingMute":{"_0":58}}}],"ours":[{"volume":{"_0":[65536,65536]}},{"\#
        muted":{"_0":false}},{"muted":{"_0":true}}]}},"players":[{"name":"org.mpris.MediaPlayer2.f\#
        ake","owner":":1.5@df1b7a747a4cdd6fc26a80c86b05d987","track":"/track/1"}],"records":[{"bef\#
        ore":{"muted":{"_0":false}},"channels":[1,2],"cookie":3516535020,"isTaken":false,"owners":\#
        [{"number":17}],"restoreID":"sink-input-by-media-role:music","set":{"muted":{"_0":true}},"\#
        target":{"playingMute":{"_0":58}}}]}

        """#

    @Test("A journal of an earlier version is read, all of it")
    func earlierVersion() throws {
        try cleaningUp {
            _ = try EffectJournal(path: path)
            try FileSystem.replace(path, with: Array(Self.earlier.utf8), mode: 0o600)
            let journal = try EffectJournal(path: path)
            #expect(journal.damage == nil)
            #expect(journal.found[.playingMute(58)]?.before == .muted(false))
            #expect(journal.found.kinds["sink-input-by-media-role:music"]?.usersMute == nil)
            #expect(journal.found.players.map(\.track) == ["/track/1"])
            #expect(journal.found.pausedPlayers.isEmpty)
            #expect(journal.found.count == 2)
        }
    }

    @Test("A journal of a newer version is refused and left as it is")
    func newer() throws {
        try cleaningUp {
            _ = try EffectJournal(path: path)
            let text = #"{"bytes":3,"checksum":"x","format":"ringwake audio effects","version":2}"# + "\nabc\n"
            try FileSystem.replace(path, with: Array(text.utf8), mode: 0o600)
            let error = #expect(throws: EffectJournalError.self) { _ = try EffectJournal(path: path) }
            #expect(error?.kind == .newer)
            #expect(try FileSystem.read(path, maximumSize: 1_000) == Array(text.utf8))
        }
    }

    @Test("A second program is refused while the first one has it")
    func lock() throws {
        try cleaningUp {
            let first = try EffectJournal(path: path)
            let error = #expect(throws: EffectJournalError.self) { _ = try EffectJournal(path: path) }
            #expect(error?.kind == .inUse)
            #expect(first.found.isEmpty)
        }
    }

    @Test("What cannot be written is an error that says so")
    func unwritable() throws {
        try cleaningUp {
            let journal = try EffectJournal(path: path)
            mkdir(path, 0o700)
            defer { rmdir(path) }
            let ledger = try ledger()
            let error = #expect(throws: EffectJournalError.self) { try journal.write(ledger) }
            #expect(error?.kind == .unusable)
            #expect(!journal.written.covers(ledger))
        }
    }
}

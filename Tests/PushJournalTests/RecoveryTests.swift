import Logging
import PushJournal
import RingwakeCore
import Testing

@Suite("What the last run left")
struct RecoveryTests {
    @Test("after a restart of the machine a call is as old as the wall clock says")
    func otherBoot() throws {
        let harness = try JournalHarness()
        let woken = harness.clock.boot.advanced(by: .milliseconds(4))
        let call = harness.call(1, "A").entering(.woken, .woke, at: woken)
        _ = try harness.append(harness.push("A"), call: call)
        // 60 s later the machine has been up for 10 s: the call came 50 s before the boot.
        harness.clock.restart(uptime: .seconds(10), wall: harness.clock.wall + 60_000)
        try harness.reopen(bootID: "boot-2")
        let recovered = try #require(harness.contents.open.first)
        #expect(recovered.isTimeKnown)
        #expect(recovered.record.receivedAt == BootInstant(nanoseconds: -50_000_000_000))
        #expect(recovered.record.time(of: .woke) == BootInstant(nanoseconds: -49_996_000_000))
        #expect(recovered.record.ringBefore == BootInstant(nanoseconds: -5_000_000_000))
        #expect(recovered.record.ringTime == .seconds(45))
        let call2 = try #require(try harness.calls().first)
        #expect(call2.record == recovered.record)
        #expect(call2.receivedWallClock == harness.clock.wall - 60_000)

        // What happens to it in this boot is written as it is, and is still right in the next one.
        let ended = recovered.record.ending(.failed, at: harness.clock.boot)
        harness.journal.write(ended, .now)
        #expect(try harness.records() == [ended])
        harness.clock.restart(uptime: .seconds(5), wall: harness.clock.wall + 20_000)
        try harness.reopen(bootID: "boot-3")
        #expect(harness.contents.recent.first?.time(of: .ended) == BootInstant(nanoseconds: -15_000_000_000))
    }

    @Test(
        "when the wall clock cannot be right, the time of another boot's calls is not known",
        arguments: [(-61_000 as Int64?, false), (-59_000, true), (0, true), (nil, false)])
    func clockWentBack(difference: Int64?, isKnown: Bool) throws {
        let harness = try JournalHarness()
        let call = harness.call(1, "A").entering(.woken, .woke, at: harness.clock.boot.advanced(by: .seconds(3)))
        _ = try harness.append(harness.push("A"), call: call)
        // Without a difference the clock was not set at all: 1970.
        harness.clock.restart(wall: difference.map { harness.clock.wall + $0 } ?? 12_000)
        try harness.reopen(bootID: "boot-2")
        let recovered = try #require(harness.contents.open.first)
        #expect(recovered.isTimeKnown == isKnown)
        // Nothing that happened is in the future, whatever the clock says.
        #expect(recovered.record.timeline.allSatisfy { $0.at <= harness.clock.boot })
        // Of the same boot everything is known, whatever the wall clock says.
        try harness.reopen(bootID: "boot-1")
        #expect(harness.contents.open == [StoredCall(record: call, payload: [1, 2, 3], isTimeKnown: true)])
    }

    @Test("calls that ended within the hour are given back, oldest first and not too many; older ones are not")
    func recent() throws {
        var limits = JournalLimits()
        limits.maximumRecentCalls = 3
        let harness = try JournalHarness(limits: limits)
        for number in 1...6 as ClosedRange<Int64> {
            let call = harness.call(number, "\(number)")
            _ = try harness.append(harness.push("\(number)"), call: call)
            if number != 5 { harness.journal.write(call.ending(.declined, at: harness.clock.boot), .now) }
            harness.clock.advance(by: .seconds(1_500))
        }
        // 6 ended 1500 s ago, 4 4500 s, 3 6000 s.
        try harness.reopen()
        #expect(harness.contents.recent.map(\.number) == [6])
        #expect(harness.contents.open.map(\.record.number) == [5])
        #expect(harness.contents.nextCallNumber == 7)
        harness.journal.write(harness.contents.open[0].record.ending(.failed, at: harness.clock.boot), .now)
        try harness.reopen()
        #expect(harness.contents.recent.map(\.number) == [5, 6])
    }

    @Test("a new journal is empty, and what it held is given back once")
    func once() throws {
        let harness = try JournalHarness()
        #expect(harness.contents.open.isEmpty)
        #expect(harness.contents.nextCallNumber == 1)
        #expect(harness.contents.newestWallClock == nil)
        _ = try harness.append(harness.push("A"), call: harness.call(1, "A"))
        try harness.reopen()
        #expect(harness.contents.open.count == 1)
        #expect(harness.journal.takeContents().open.isEmpty)
    }

    @Test("a call whose row no version writes has ended as missed, and its row is set aside; the others are there")
    func unreadable() throws {
        let harness = try JournalHarness()
        for number in 1...4 as ClosedRange<Int64> {
            _ = try harness.append(harness.push("\(number)"), call: harness.call(number, "\(number)"))
        }
        harness.journal.close()
        do {
            let probe = try StoreProbe(harness.directory.store)
            try probe.run("UPDATE call SET state = 'dancing' WHERE number = 1")
            try probe.run("UPDATE call SET snapshot = json_set(snapshot, '$.reason', 'why not') WHERE number = 2")
            try probe.run("UPDATE call SET app = '../etc' WHERE number = 3")
            try probe.run("UPDATE push SET priority = 4 WHERE sequence = 1")
        }
        try harness.reopen()
        #expect(harness.contents.open.map(\.record.number) == [4])
        #expect(harness.contents.setAside.map(\.path) == ["call/1", "call/2"])
        // Nobody knows whether they rang. The one whose app can't be read can't be shown.
        #expect(try harness.calls().map(\.record.number) == [4, 2, 1])
        #expect(try harness.calls(CallQuery(missedOnly: true)).map(\.record.reason) == [.failed, .failed])
        #expect(try harness.pushes().map(\.push.pushID) == ["4", "3", "2"])
        #expect(try harness.pushes().map { $0.call == nil } == [false, true, false])
        #expect(!harness.log.messages(.warning).isEmpty)
        // The numbers of those that cannot be read are taken all the same.
        #expect(harness.contents.nextCallNumber == 5)
        _ = try harness.append(harness.push("5"), call: harness.call(5, "5"))
    }

    @Test("numbers at the end of their range do not stop a start")
    func extremes() throws {
        let harness = try JournalHarness()
        for number in 1...4 as ClosedRange<Int64> {
            _ = try harness.append(harness.push("\(number)"), call: harness.call(number, "\(number)"))
        }
        harness.journal.close()
        do {
            let probe = try StoreProbe(harness.directory.store)
            let (low, high) = ("-9223372036854775807 - 1", "9223372036854775807")
            try probe.run(
                "UPDATE call SET received_wall = \(low), received_boot = \(high), snapshot = json_set(snapshot, "
                    + "'$.ring_before', \(high), '$.times.woke', \(low), '$.times.rang', \(high)) WHERE number = 1")
            try probe.run("UPDATE call SET received_wall = \(high), boot = 99 WHERE number = 2")
            try probe.run(
                "UPDATE call SET received_wall = \(low), boot = 99, "
                    + "snapshot = json_set(snapshot, '$.times.woke', \(high)) WHERE number = 3")
            try probe.run("UPDATE call SET number = \(high) WHERE number = 4")
            try probe.run("UPDATE push SET received_wall = \(low), journaled = \(low), boot = 99 WHERE sequence = 2")
            try probe.run("UPDATE push SET received_wall = \(high), received_boot = \(low), priority = \(high)")
        }
        for boot in ["boot-1", "boot-2"] {
            try harness.reopen(bootID: boot)
            // After the fourth no call could be numbered.
            #expect(harness.contents.open.count == 3)
            #expect(try harness.calls().count == 3)
            _ = try harness.pushes()
        }
        #expect(harness.contents.nextCallNumber == 4)
    }

    @Test(
        "after a restart of the machine the wall clock counts only if somebody vouches for it",
        arguments: [(WallClockTrust.none, false), (.battery, true), (.kept, true)])
    func vouchedClock(trust: WallClockTrust, isKnown: Bool) throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"), call: harness.call(1, "A"))
        // A board without a battery: switched off for hours, it goes on with the time at which it was.
        harness.clock.restart(uptime: .seconds(20), wall: harness.clock.wall + 1_000)
        harness.clock.setTrust(trust)
        try harness.reopen(bootID: "boot-2")
        let recovered = try #require(harness.contents.open.first)
        #expect(recovered.isTimeKnown == isKnown)
        // It came before this boot, whatever the clock says.
        #expect(recovered.record.receivedAt.nanoseconds <= 0)
    }

    @Test("a record that waited too long does not take a call's end back")
    func endStays() throws {
        let harness = try JournalHarness()
        let call = harness.call(1, "A")
        _ = try harness.append(harness.push("A"), call: call)
        let ended = call.ending(.cancelled, at: harness.clock.boot)
        harness.journal.write(ended, .now)
        #expect(try harness.records() == [ended])
        // As when the ring lay deep in a backlog that the end went past.
        #expect(try harness.appendRing(call.entering(.ringing, .rang, at: harness.clock.boot)) == .recorded)
        harness.journal.write(call.entering(.reported, .reported, at: harness.clock.boot), .now)
        #expect(try harness.records() == [ended])
    }

    @Test("a clock that nobody keeps removes nothing by age")
    func clockAhead() throws {
        let harness = try JournalHarness()
        _ = try harness.append(
            harness.push("A"), call: harness.call(1, "A").ending(.unanswered, at: harness.clock.boot))
        harness.clock.setTrust(.battery)
        harness.clock.setWall(harness.clock.wall + 40 * 86_400_000)
        _ = try harness.append(harness.push("B"), call: harness.call(2, "B"))
        try harness.reopen()
        #expect(try harness.records().count == 2)
        harness.clock.setTrust(.kept)
        _ = try harness.append(harness.push("C"), call: harness.call(3, "C"))
        harness.run { harness.journal.statistics.calls == 2 }
        #expect(try harness.records().map(\.key.id.rawValue) == ["C", "B"])
    }
}

import ControlProtocol
import Glibc
import Testing

@testable import RingwakeCommands

@Suite("ringwake dnd")
struct DoNotDisturbTests {
    private static let message =
        #"{"schema":1,"state":"scheduled","active":true,"until":"2026-11-22T06:00:00.000Z","#
        + #""schedule":["mon-fri 22:00-07:00","daily 13:00-14:00"],"repeatWithinMs":180000,"#
        + #""allowApps":["com.example.doorbell"],"allowCallers":["+4989123456","*@family.example"],"#
        + #""why":"on until 07:00"}"#

    private func daemon() -> FakeDaemon { FakeDaemon { _ in .json(Self.message) } }

    /// Runs `ringwake dnd` and gives the body of its PUT.
    private func change(_ arguments: [String], at daemon: FakeDaemon? = nil) -> String? {
        let daemon = daemon ?? self.daemon()
        let ran = ringwake(["dnd"] + arguments, at: daemon)
        guard ran.status == 0, let request = daemon.requests.last, request.hasPrefix("PUT /v1/dnd HTTP/1.1\r\n") else {
            return nil
        }
        return request.range(of: "\r\n\r\n").map { String(request[$0.upperBound...].dropLast()) }
    }

    @Test("dnd alone shows what is in force, what comes, and who rings all the same")
    func status() {
        let daemon = daemon()
        let output = ringwake(["dnd"], at: daemon).output
        #expect(daemon.requestLines == ["GET /v1/dnd HTTP/1.1"])
        for line in [
            "calls are blocked", "  why                on until 07:00", "  schedule           mon-fri 22:00-07:00",
            "                     daily 13:00-14:00",
            "  repeat             a second call of the same caller within 3 min rings",
            "  apps that ring     com.example.doorbell", "  callers that ring  +4989123456",
            "                     *@family.example",
        ] {
            #expect(output.contains(line + "\n"), "\(line) in \(output)")
        }
        #expect(ringwake(["dnd", "status", "--json"], at: daemon).output.contains(#""active" : true"#))
    }

    @Test("on and off say so, and on says until when")
    func switches() throws {
        #expect(change(["on"]) == #"{"state":"on"}"#)
        #expect(change(["off"]) == #"{"state":"off"}"#)
        let before = WallClock.seconds()
        let timed = try #require(change(["on", "--for", "1h"]))
        let after = WallClock.seconds()
        let text = try #require(timed.firstMatch(of: /"until":"([^"]+)"/)).1
        let until = try #require(UTCTime(String(text))).milliseconds / 1000
        #expect((before + 3600...after + 3600).contains(until))
        #expect(change(["on", "--until", "07:00"])?.contains(#""until":""#) == true)
    }

    @Test("a time of day is the next one of this machine's local time")
    func timeOfDay() throws {
        let time = try #require(TimeOfDayArgument(argument: "07:05"))
        // Each hour of two weeks around a change of clocks in Europe and America.
        for hour in 0..<Int64(24 * 14) {
            let now = 1_792_800_000 + hour * 3600
            let next = time.next(after: now)
            #expect(next > now && next <= now + 25 * 3600)
            var clock = time_t(next)
            var local = tm()
            localtime_r(&clock, &local)
            #expect(local.tm_hour == 7 && local.tm_min == 5 && local.tm_sec == 0)
        }
        #expect(time.next(after: time.next(after: 0)) > time.next(after: 0))
        for bad in ["", "7", "24:00", "07:60", "-1:00", "07:00:00", "07:", "٠7:00", "007:00"] {
            #expect(TimeOfDayArgument(argument: bad) == nil, "\(bad)")
        }
    }

    @Test("the schedule is changed entry by entry, however it is written")
    func schedule() {
        #expect(
            change(["schedule", "add", "SAT,sun", "0:00-24:00"])
                == #"{"schedule":["mon-fri 22:00-07:00","daily 13:00-14:00","sat,sun 00:00-24:00"]}"#)
        #expect(change(["schedule", "remove", "mon-fri 22:00-07:00"]) == #"{"schedule":["daily 13:00-14:00"]}"#)
        #expect(change(["schedule", "clear"]) == #"{"schedule":[]}"#)
        #expect(change(["schedule", "add", "daily", "13:00-14:00"]) == nil)
        #expect(ringwake(["dnd", "schedule", "remove", "mon", "1:00-2:00"], at: daemon()).status == 5)
        #expect(ringwake(["dnd", "schedule"], at: daemon()).output == "mon-fri 22:00-07:00\ndaily 13:00-14:00\n")
    }

    @Test("a wrong entry of the schedule is refused before the daemon is changed")
    func wrongSchedule() {
        let daemon = daemon()
        let ran = ringwake(["dnd", "schedule", "add", "someday", "22:00-07:00"], at: daemon)
        #expect(ran.status == 2 && ran.errors.contains("'someday'"))
        #expect(!daemon.requestLines.contains { $0.hasPrefix("PUT") })
    }

    @Test("exceptions are added once, and taken back as they were written")
    func exceptions() {
        #expect(
            change(["allow", "--caller", "+49 (89) 777", "--caller", "+4989123456"])
                == #"{"allowCallers":["+4989123456","*@family.example","+4989777"]}"#)
        #expect(
            change(["allow", "--app", "a.b"]) == #"{"allowApps":["com.example.doorbell","a.b"]}"#)
        #expect(
            change(["disallow", "--app", "com.example.doorbell", "--caller", "+49 89 123456"])
                == #"{"allowApps":[],"allowCallers":["*@family.example"]}"#)
        let reading = FakeDaemon { line in
            .json(
                line.contains("/v1/lists/check?caller=089%20")
                    ? #"{"schema":1,"caller":"+4989123456","rings":true}"#
                    : line.contains("check") ? #"{"schema":1,"caller":"+1","rings":true}"# : Self.message)
        }
        #expect(
            change(["disallow", "--caller", "089 123456"], at: reading) == #"{"allowCallers":["*@family.example"]}"#)
        #expect(ringwake(["dnd", "disallow", "--caller", "+1"], at: reading).status == 5)
        #expect(ringwake(["dnd", "disallow", "--app", "a.b"], at: reading).status == 5)
        #expect(ringwake(["dnd", "allow", "--caller", "1*2"], at: daemon()).status == 2)
    }

    @Test("a second call is let through within a time, or not at all")
    func repeats() {
        #expect(change(["repeat", "3m"]) == #"{"repeatWithinMs":180000}"#)
        #expect(change(["repeat", "off"]) == #"{"repeatWithinMs":0}"#)
    }
}

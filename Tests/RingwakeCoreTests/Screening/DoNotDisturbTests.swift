import FoundationEssentials
import RingwakeCore
import Testing

@Suite("Do not disturb")
struct DoNotDisturbTests {
    /// A week from Monday 1970-01-05 00:00 on, in a place where the local time is UTC.
    static func moment(_ day: Int, _ hour: Int, _ minute: Int = 0, second: Int = 0) -> LocalMoment {
        let wall = ((4 + day - 1) * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000
        return LocalMoment(weekday: (day - 1) % 7 + 1, minuteOfDay: hour * 60 + minute, wallMilliseconds: Int64(wall))
    }

    func rules(_ schedule: String...) throws -> DoNotDisturb {
        var rules = DoNotDisturb()
        try rules.setSchedule(schedule.map { try QuietHours($0) })
        return rules
    }

    @Test(
        "Quiet hours are written in one way",
        arguments: [
            ("mon-fri 22:00-07:00", "mon-fri 22:00-07:00"), ("DAILY 22:00-7:00", "daily 22:00-07:00"),
            ("sat,sun 00:00-24:00", "sat,sun 00:00-24:00"), ("weekdays 9:00-17:30", "mon-fri 09:00-17:30"),
            ("weekends 0:00-0:01", "sat,sun 00:00-00:01"), ("fri-mon 22:00-00:00", "mon,fri-sun 22:00-24:00"),
            ("monday,wed  12:00-13:00", "mon,wed 12:00-13:00"), ("mon-sun 1:00-2:00", "daily 01:00-02:00"),
        ])
    func text(written: String, stable: String) throws {
        let hours = try QuietHours(written)
        #expect(hours.description == stable)
        #expect(try QuietHours(stable) == hours)
    }

    @Test(
        "What is no schedule is refused with the place",
        arguments: [
            ("", "needs the days"), ("22:00-07:00", "needs the days"), ("mon 22:00 - 07:00", "needs the days"),
            ("mun 22:00-07:00", "'mun'"), ("mon-fry 22:00-07:00", "'fry'"), ("mon,,tue 22:00-07:00", "day ''"),
            ("mon 22:61-07:00", "'22:61'"), ("mon 22:00-25:00", "'25:00'"), ("mon 2200-0700", "'2200'"),
            ("mon 22:00", "two times"), ("mon 22:00-07:00-08:00", "two times"), ("mon 24:00-07:00", "begin at 24:00"),
            ("mon 07:00-07:00", "the whole day"), ("mon 24:01-07:00", "'24:01'"), ("mon -1:00-07:00", "two times"),
            ("mon ٢٢:00-07:00", "'٢٢:00'"), (String(repeating: "mon,", count: 100), "too long"),
        ])
    func refused(written: String, place: String) {
        let error = #expect(throws: RingwakeError.self) { try QuietHours(written) }
        #expect(error?.message.contains(place) == true, "\(error?.message ?? "")")
    }

    @Test("Hours over midnight last into the next day, also from Sunday to Monday")
    func overMidnight() throws {
        let rules = try rules("sun 22:00-07:00")
        #expect(!rules.isActive(at: Self.moment(7, 21, 59)))
        #expect(rules.isActive(at: Self.moment(7, 22)))
        #expect(rules.isActive(at: Self.moment(1, 0)))
        #expect(rules.isActive(at: Self.moment(1, 6, 59)))
        #expect(!rules.isActive(at: Self.moment(1, 7)))
        #expect(rules.text(at: Self.moment(7, 23)) == "on until 07:00")
        #expect(rules.text(at: Self.moment(1, 3)) == "on until 07:00")
        #expect(rules.text(at: Self.moment(1, 8)) == "off until Sunday 22:00")
        #expect(rules.text(at: Self.moment(7, 8)) == "off until 22:00")
    }

    @Test("Each time of the week is as the entries say, whatever they are")
    func everyMinute() throws {
        let rules = try rules("mon-fri 22:00-07:00", "sat 12:00-12:30", "sun 20:00-24:00", "daily 06:30-07:15")
        for minute in stride(from: 0, to: 7 * 1_440, by: 5) {
            let (day, rest) = (minute / 1_440 + 1, minute % 1_440)
            let isNight = (day <= 5 && rest >= 1_320) || ((2...6).contains(day) && rest < 420)
            let expected =
                isNight || (day == 6 && (720..<750).contains(rest)) || (day == 7 && rest >= 1_200)
                || (390..<435).contains(rest)
            let now = Self.moment(day, rest / 60, rest % 60)
            #expect(rules.isActive(at: now) == expected)
            guard minute % 35 == 0 else { continue }
            let change = try #require(rules.nextChange(after: now))
            #expect(rules.isActive(at: change) != expected)
            #expect(change.wallMilliseconds > now.wallMilliseconds)
        }
    }

    @Test("The next change is the first one, of overlapping and adjacent hours the last end")
    func nextChange() throws {
        let rules = try rules("mon 20:00-22:00", "mon 22:00-24:00", "tue 00:00-06:00", "tue 05:00-07:00")
        #expect(rules.nextChange(after: Self.moment(1, 20, 30, second: 30)) == Self.moment(2, 7))
        #expect(rules.nextChange(after: Self.moment(2, 7)) == Self.moment(8, 20))
        let always = try self.rules("daily 00:00-24:00")
        #expect(always.isActive(at: Self.moment(3, 12)))
        #expect(always.nextChange(after: Self.moment(3, 12)) == nil)
        #expect(always.text(at: Self.moment(3, 12)) == "on until it is switched off")
    }

    @Test("By hand it is on for a time, or until it is switched off; quiet hours go on after it")
    func byHand() throws {
        var rules = try rules("daily 22:00-07:00")
        rules.turnOn(untilMilliseconds: Self.moment(1, 13).wallMilliseconds)
        #expect(rules.isActive(at: Self.moment(1, 12, 59, second: 59)))
        #expect(!rules.isActive(at: Self.moment(1, 13)))
        #expect(rules.text(at: Self.moment(1, 12)) == "on until 13:00")
        rules.turnOn(untilMilliseconds: Self.moment(1, 23).wallMilliseconds)
        #expect(rules.text(at: Self.moment(1, 12)) == "on until 07:00")
        rules.turnOn()
        #expect(rules.isActive(at: Self.moment(3, 12)))
        #expect(rules.text(at: Self.moment(3, 12)) == "on until it is switched off")
        rules.turnOff(at: Self.moment(3, 12))
        #expect(rules.position == .scheduled)
        #expect(rules.text(at: Self.moment(3, 12)) == "off until 22:00")
    }

    @Test("Switched off within quiet hours, these are let pass and the next ones come")
    func offInQuietHours() throws {
        var rules = try rules("daily 22:00-07:00")
        rules.turnOff(at: Self.moment(1, 23, 30, second: 17))
        #expect(rules.position == .off(untilMilliseconds: Self.moment(2, 7).wallMilliseconds))
        #expect(!rules.isActive(at: Self.moment(1, 23, 31)))
        #expect(!rules.isActive(at: Self.moment(2, 6, 59)))
        #expect(rules.text(at: Self.moment(1, 23, 31)) == "off until 22:00")
        #expect(rules.isActive(at: Self.moment(2, 22)))
        var always = try self.rules("daily 00:00-24:00")
        always.turnOff(at: Self.moment(1, 12))
        #expect(!always.isActive(at: Self.moment(1, 13)))
        #expect(always.isActive(at: Self.moment(2, 12)))
    }

    @Test("It is stored and read as it was; another version and what it would refuse are not read")
    func coding() throws {
        var rules = try rules("daily 22:00-07:00")
        rules.turnOn(untilMilliseconds: 5)
        try rules.setAllowedCallers([CallerPattern("+49900*"), CallerPattern("+49 900*")])
        try rules.setAllowedApps([#require(AppID("com.example.phone"))])
        try rules.setRepeatWithin(nil)
        #expect(rules.allowedCallers.count == 1)
        let data = try JSONEncoder().encode(rules)
        #expect(try JSONDecoder().decode(DoNotDisturb.self, from: data) == rules)
        let text = String(decoding: data, as: UTF8.self)
        for (part, other) in [
            ("\"version\":1", "\"version\":2"), ("daily", "dayly"), ("+49900*", "*"),
        ] {
            #expect(text.contains(part))
            let changed = text.replacing(part, with: other)
            #expect(throws: (any Error).self) {
                try JSONDecoder().decode(DoNotDisturb.self, from: Data(changed.utf8))
            }
        }
    }

    @Test("Times of any kind are no trap")
    func extremes() throws {
        var rules = try rules("daily 22:00-07:00")
        for wall in [Int64.min, -1, 0, Int64.max] {
            let now = LocalMoment(weekday: 99, minuteOfDay: -5, wallMilliseconds: wall)
            for until in [Int64.min, -1, 0, Int64.max] {
                rules.turnOn(untilMilliseconds: until)
                _ = rules.text(at: now)
                rules.turnOff(at: now)
                _ = rules.text(at: now)
            }
        }
        #expect(throws: RingwakeError.self) { try rules.setRepeatWithin(.zero) }
        #expect(throws: RingwakeError.self) { try rules.setRepeatWithin(.seconds(4_000)) }
    }
}

import RingwakeCore
import Testing

@Suite("Which calls are kept out")
struct ScreeningRulesTests {
    /// Judges calls one after another, by a clock of its own.
    struct Judge {
        var rules = ScreeningRules()
        var limits = CallLimits()
        var level: Int?
        var now = BootInstant(nanoseconds: 1_000_000_000_000)
        var moment = DoNotDisturbTests.moment(1, 12)

        mutating func wait(seconds: Int) { now = now.advanced(by: .seconds(seconds)) }

        mutating func push(
            _ id: String, from caller: String?, app: String = "com.example.phone", listed: ListVerdict? = nil
        ) throws -> Restriction.Kind? {
            try judge(id, caller, app, listed, isReport: false)?.kind
        }

        mutating func report(
            _ id: String, from caller: String?, app: String = "com.example.phone", listed: ListVerdict? = nil
        ) throws -> Restriction.Kind? {
            try judge(id, caller, app, listed, isReport: true)?.kind
        }

        mutating func judge(
            _ id: String, _ caller: String?, _ app: String, _ listed: ListVerdict?, isReport: Bool
        ) throws -> Restriction? {
            let call = ScreenedCall(
                call: CallKey(app: try #require(AppID(app)), id: CallID(id)), level: level, limits: limits,
                caller: caller.map { CallerHandle($0) }, listed: listed)
            return rules.restriction(for: call, isReport: isReport, at: now, moment: { moment })
        }
    }

    func limit(_ text: String) throws -> CallLimit { try #require(CallLimit(text)) }

    @Test("Without rules every call comes in")
    func noRules() throws {
        var judge = Judge()
        for number in 0..<100 { #expect(try judge.push("\(number)", from: "+491") == nil) }
    }

    @Test("An app above the allowed level is kept out, one at it is not")
    func level() throws {
        var judge = Judge()
        judge.rules.allowedLevel = 12
        judge.level = 17
        let restriction = try judge.judge("a", nil, "com.example.phone", nil, isReport: false)
        #expect(restriction == Restriction(.level, "the app's level is 17, and this device allows 12"))
        judge.level = 12
        #expect(try judge.push("b", from: nil) == nil)
        judge.level = nil
        #expect(try judge.push("c", from: nil) == nil)
    }

    @Test("A blocked caller is kept out, one that is only named is not")
    func lists() throws {
        var judge = Judge()
        let match = ListMatch(list: "spam", pattern: try CallerPattern("+49900*"), label: "Spam")
        let blocked = ListVerdict(blocked: match, identified: nil)
        let restriction = try judge.judge("a", "+49900123", "com.example.phone", blocked, isReport: false)
        #expect(restriction == Restriction(.blocked, "blocked by the list 'spam'"))
        #expect(restriction?.endReason == .blocked)
        #expect(try judge.push("b", from: "+49900123", listed: ListVerdict(blocked: nil, identified: match)) == nil)
        #expect(ListVerdict(blocked: nil, identified: nil) == nil)
    }

    @Test("As many calls of an app as its limit says come in, and more when time has passed")
    func appLimit() throws {
        var judge = Judge()
        judge.limits.app = try limit("3/1m")
        for number in 0..<3 {
            #expect(try judge.push("\(number)", from: "+49\(number)") == nil)
            #expect(try judge.push("\(number)", from: "+49\(number)") == nil, "a repeat is no other call")
            #expect(try judge.report("\(number)", from: "+49\(number)") == nil, "nor is the report")
        }
        let restriction = try judge.judge("x", "+499", "com.example.phone", nil, isReport: false)
        #expect(restriction == Restriction(.appLimit, "3 calls of the app came within 1 m"))
        #expect(try judge.push("y", from: "+499", app: "com.example.other") == nil)
        judge.wait(seconds: 59)
        #expect(try judge.push("x", from: "+499") == .appLimit)
        judge.wait(seconds: 1)
        #expect(try judge.push("x", from: "+499") == nil, "the ones that were kept out do not count")
    }

    @Test("A caller's limit counts the caller, also when it is known at the report only")
    func callerLimit() throws {
        var judge = Judge()
        judge.limits.caller = try limit("2/10m")
        #expect(try judge.push("1", from: "+491") == nil)
        #expect(try judge.push("2", from: nil) == nil)
        #expect(try judge.report("2", from: "tel:+49-1") == nil)
        #expect(try judge.push("3", from: "+491") == .callerLimit)
        #expect(try judge.push("4", from: nil) == nil)
        #expect(try judge.report("4", from: "+491") == .callerLimit)
        #expect(try judge.report("4", from: "+491") == .callerLimit)
        #expect(try judge.push("5", from: "+492") == nil)
        judge.wait(seconds: 601)
        #expect(try judge.push("6", from: "+491") == nil)
    }

    @Test("A call that turns out to be kept out at its report makes room for another")
    func room() throws {
        var judge = Judge()
        judge.limits.app = try limit("1/10m")
        let match = ListMatch(list: "l", pattern: try CallerPattern("+493"), label: nil)
        #expect(try judge.push("1", from: nil) == nil)
        #expect(try judge.push("2", from: nil) == .appLimit)
        #expect(try judge.report("1", from: "+493", listed: ListVerdict(blocked: match, identified: nil)) == .blocked)
        #expect(try judge.push("2", from: nil) == nil)
    }

    @Test("All anonymous callers are one to the limit")
    func anonymousLimit() throws {
        var judge = Judge()
        judge.limits.caller = try limit("1/10m")
        #expect(try judge.report("1", from: nil) == nil)
        #expect(try judge.report("2", from: "anonymous") == .callerLimit)
    }

    @Test("Do not disturb keeps calls out, but not of allowed apps and callers")
    func quiet() throws {
        var judge = Judge()
        judge.rules.doNotDisturb.turnOn(untilMilliseconds: DoNotDisturbTests.moment(1, 13).wallMilliseconds)
        try judge.rules.doNotDisturb.setAllowedApps([#require(AppID("com.example.door"))])
        try judge.rules.doNotDisturb.setAllowedCallers([CallerPattern("+4989*")])
        let restriction = try judge.judge("1", "+491", "com.example.phone", nil, isReport: false)
        #expect(restriction == Restriction(.doNotDisturb, "do not disturb until 13:00"))
        #expect(try judge.push("2", from: "+491", app: "com.example.door") == nil)
        #expect(try judge.push("3", from: "+4989123") == nil)
        judge.rules.dialling = try DiallingRules(countryCode: "49", trunkPrefix: "0")
        try judge.rules.doNotDisturb.setAllowedCallers([CallerPattern("089*")])
        #expect(try judge.push("3a", from: "+4989124") == nil, "a national number of the list")
        #expect(try judge.push("4", from: nil) == nil, "the caller may be one of the allowed")
        #expect(try judge.report("4", from: nil) == .doNotDisturb)
        #expect(try judge.report("4", from: "+4989123") == nil)
        judge.moment = DoNotDisturbTests.moment(1, 13)
        #expect(try judge.push("5", from: "+491") == nil)
    }

    @Test("Without any exception an unknown caller is kept out at once")
    func quietWithoutExceptions() throws {
        var judge = Judge()
        judge.rules.doNotDisturb.turnOn()
        try judge.rules.doNotDisturb.setRepeatWithin(nil)
        #expect(try judge.push("1", from: nil) == .doNotDisturb)
    }

    @Test("A caller that calls again soon comes through, by any app; the same call again does not")
    func repeated() throws {
        var judge = Judge()
        judge.rules.doNotDisturb.turnOn()
        #expect(try judge.push("1", from: "+491") == .doNotDisturb)
        #expect(try judge.push("1", from: "+491") == .doNotDisturb, "the same push again")
        #expect(try judge.push("2", from: "+492") == .doNotDisturb)
        judge.wait(seconds: 180)
        #expect(try judge.push("3", from: "sip:+491@a.example", app: "com.example.other") == nil)
        judge.wait(seconds: 10)
        #expect(try judge.report("3", from: "+491", app: "com.example.other") == nil, "as it was when it came")
        judge.wait(seconds: 181)
        #expect(try judge.push("4", from: "+491") == .doNotDisturb)
        #expect(try judge.push("5", from: "anonymous") == .doNotDisturb)
        #expect(try judge.push("6", from: "anonymous") == .doNotDisturb, "two strangers may be two people")
    }

    @Test("One call that comes by two apps at once is no caller who calls again")
    func forked() throws {
        var judge = Judge()
        judge.rules.doNotDisturb.turnOn()
        #expect(try judge.push("1", from: "+491") == .doNotDisturb)
        #expect(try judge.push("1", from: "+491", app: "com.example.other") == .doNotDisturb)
        judge.wait(seconds: 6)
        #expect(try judge.push("2", from: "+491", app: "com.example.other") == nil)
    }

    @Test("A first call whose caller is known at the report only counts for the second one")
    func repeatedUnknown() throws {
        var judge = Judge()
        judge.rules.doNotDisturb.turnOn()
        #expect(try judge.push("1", from: nil) == nil)
        #expect(try judge.report("1", from: "+491") == .doNotDisturb)
        judge.wait(seconds: 60)
        #expect(try judge.push("2", from: nil) == nil)
        #expect(try judge.report("2", from: "+491") == nil)
    }

    @Test("What do not disturb keeps out counts towards no limit; a blocked caller never comes through")
    func quietAndLimits() throws {
        var judge = Judge()
        judge.limits.app = try limit("1/1h")
        judge.rules.doNotDisturb.turnOn()
        let match = ListMatch(list: "l", pattern: try CallerPattern("+493"), label: nil)
        for number in 0..<5 {
            #expect(try judge.push("a\(number)", from: "+49\(number)4") == .doNotDisturb)
            let blocked = ListVerdict(blocked: match, identified: nil)
            #expect(try judge.push("b\(number)", from: "+493", listed: blocked) == .blocked)
        }
        #expect(try judge.push("c", from: "+493") == .doNotDisturb, "blocked calls are no first call")
        #expect(try judge.push("d", from: "+4904") == nil)
        #expect(try judge.push("e", from: "+4914") == .appLimit)
    }

    @Test("Only so many calls are remembered, and the oldest makes way")
    func bounded() throws {
        var judge = Judge()
        judge.limits.caller = try limit("1/1d")
        #expect(try judge.push("first", from: "+491") == nil)
        judge.limits.caller = nil
        for number in 0..<(CallHistory.capacity - 1) { #expect(try judge.push("\(number)", from: "+492") == nil) }
        judge.limits.caller = try limit("1/1d")
        #expect(try judge.push("again", from: "+491") == .callerLimit)
        #expect(try judge.push("more", from: "x") == nil)
        #expect(try judge.push("again", from: "+491") == nil)
        #expect(try judge.push("first", from: "+491") == .callerLimit, "it is another call by now")
    }

    @Test(
        "Limits are written as calls and a time",
        arguments: [("30/1h", 30, 3_600), ("5/10m", 5, 600), ("1/7d", 1, 604_800), ("2/90s", 2, 90)])
    func limits(text: String, count: Int, seconds: Int) throws {
        let limit = try limit(text)
        #expect(limit.count == count)
        #expect(limit.window == .seconds(seconds))
        #expect(limit.description == text)
    }

    @Test(
        "What is no limit is refused",
        arguments: [
            "", "30", "30/h", "0/1h", "-1/1h", "5000/1h", "1/0s", "1/8d", "1/1y", "1/1h/1h", "a/1h",
            "1/99999999999999999999d",
            "1/", "/", "1/h1",
        ])
    func badLimits(text: String) { #expect(CallLimit(text) == nil) }
}

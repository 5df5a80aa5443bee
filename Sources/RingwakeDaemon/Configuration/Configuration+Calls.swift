internal import DeviceServices
internal import HandlerActivation
internal import RingwakeCore

// What the configuration says of calls, in `ringwaked.toml` and in an app's file.

extension CallRules {
    /// The most strikes that may be allowed.
    private nonisolated static let maximumStrikes = 60

    /// Reads what `[calls]` says beside the deadlines.
    nonisolated mutating func readCalls(_ reader: inout TOMLReader) throws(RingwakeError) {
        others = try reader.choice("others")
        whenBusy = try reader.choice("when_busy")
        whenCellular = try reader.choice("when_cellular")
        ringer = try reader.choice("ringer")
        fallback = try reader.choice("fallback")
    }

    /// Reads `[strikes]`.
    nonisolated mutating func readStrikes(_ root: inout TOMLReader) throws(RingwakeError) {
        guard var reader = try root.table("strikes") else { return }
        strikeLimit = try reader.integer("limit", in: 0...CallRules.maximumStrikes)
        strikeWindow = try reader.duration("window")
        try reader.refuseUnknownKeys()
    }
}

extension LimitOverrides {
    /// Reads `app_calls` and `caller_calls`.
    nonisolated init(_ reader: inout TOMLReader) throws(RingwakeError) {
        self.init()
        calls = try LimitOverrides.limit("app_calls", &reader)
        callsOfCaller = try LimitOverrides.limit("caller_calls", &reader)
    }

    private nonisolated static func limit(
        _ key: String, _ reader: inout TOMLReader
    ) throws(RingwakeError) -> CallLimit? {
        guard let text = try reader.string(key) else { return nil }
        guard let limit = CallLimit(text) else {
            throw reader.invalid(key, "is a number of calls and a time, such as \"30/1h\", not '\(text)'")
        }
        return limit
    }
}

extension RestrictionSettings {
    /// The levels that an app may have, and a device may allow.
    nonisolated static let levels = 0...21

    /// Reads `[restrictions]` of `ringwaked.toml`.
    nonisolated init(_ root: inout TOMLReader) throws(RingwakeError) {
        self.init()
        guard var reader = try root.table("restrictions") else { return }
        allowedLevel = try reader.integer("allowed_level", in: RestrictionSettings.levels)
        limits = try LimitOverrides(&reader)
        let country = try reader.digits("country", most: 3)
        let trunk = try reader.digits("trunk", most: 3)
        do throws(RingwakeError) {
            dialling = try DiallingRules(countryCode: country, trunkPrefix: trunk)
        } catch {
            throw reader.invalid(country == nil ? "trunk" : "country", error.message)
        }
        try reader.refuseUnknownKeys()
    }
}

extension WakeDefaults {
    /// Reads `[wake]` of `ringwaked.toml`; what it leaves open is as in `defaults`.
    nonisolated init(_ root: inout TOMLReader, defaults: WakeDefaults) throws(RingwakeError) {
        self = defaults
        guard var reader = try root.table("wake") else { return }
        way = try reader.choice("way") ?? way
        manager = try reader.choice("manager") ?? manager
        try reader.refuseUnknownKeys()
    }
}

extension RingSettings {
    /// Reads `[ring]` of `ringwaked.toml`; relative files start at `base`.
    nonisolated init(_ root: inout TOMLReader, base: String) throws(RingwakeError) {
        self.init()
        guard var reader = try root.table("ring") else { return }
        command = try reader.command("command")
        ringtone = Configuration.absolute(try reader.string("ringtone"), base)
        vibrate = try reader.command("vibrate")
        waiting = try reader.command("waiting")
        notifications = try reader.boolean("notifications") ?? notifications
        try reader.refuseUnknownKeys()
        if command?.contains(where: { $0.contains("{file}") }) == true, ringtone == nil {
            throw reader.missing("ringtone")
        }
    }
}

extension Configuration {
    /// Looks whether the names of units and bus names can be such names. Whether they, and programs and sockets, are
    /// there is not looked at: they may be installed later.
    func checkNames() throws(RingwakeError) {
        for app in apps.values {
            switch app.way {
            case .unit, .dbus:
                do throws(RingwakeError) {
                    try app.way?.check(of: app.id)
                } catch {
                    throw RingwakeError(.badConfiguration, "\(app.file): \(error.message)")
                }
            case .exec, .transientUnit, .socket, nil: break
            }
        }
    }

    nonisolated static func awake(_ root: inout TOMLReader) throws(RingwakeError) -> WakeKeeper.Mode {
        guard var reader = try root.table("awake") else { return .auto }
        let mode: WakeKeeper.Mode = try reader.choice("by") ?? .auto
        try reader.refuseUnknownKeys()
        return mode
    }

    nonisolated static func watchesCellular(_ root: inout TOMLReader) throws(RingwakeError) -> Bool {
        guard var reader = try root.table("cellular") else { return true }
        let isWatched = try reader.boolean("watch") ?? true
        try reader.refuseUnknownKeys()
        return isWatched
    }

    nonisolated static func notRestored(_ root: inout TOMLReader) throws(RingwakeError) -> Set<RestorationGroup> {
        guard var reader = try root.table("restoration") else { return [] }
        var groups: Set<RestorationGroup> = []
        for name in try reader.strings("exclude") ?? [] {
            guard let group = RestorationGroup(rawValue: name) else {
                let known = RestorationGroup.allCases.map(\.rawValue).joined(separator: ", ")
                throw reader.invalid("exclude", "has '\(name)'; the groups are \(known)")
            }
            groups.insert(group)
        }
        try reader.refuseUnknownKeys()
        return groups
    }
}

extension TOMLReader {
    /// One of a few words; nil when the key is absent.
    nonisolated mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String
    ) throws(RingwakeError) -> Choice? where Choice.RawValue == String {
        guard let name = try string(key) else { return nil }
        guard let choice = Choice(rawValue: name) else {
            let words = Choice.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
            throw invalid(key, "is one of \(words), not '\(name)'")
        }
        return choice
    }

    /// A command: an absolute path and its arguments; nil when the key is absent.
    nonisolated mutating func command(_ key: String) throws(RingwakeError) -> [String]? {
        guard let command = try strings(key) else { return nil }
        guard let path = command.first, path.hasPrefix("/") else {
            throw invalid(key, "begins with the program's absolute path; no shell looks it up")
        }
        return command
    }

    /// A few digits; nil when the key is absent.
    nonisolated mutating func digits(_ key: String, most: Int) throws(RingwakeError) -> String? {
        guard let text = try string(key) else { return nil }
        let isDigits = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isDigits, (1...most).contains(text.utf8.count) else {
            throw invalid(key, "is 1 to \(most) digits, not '\(text)'")
        }
        return text
    }
}

internal import FileSystem
internal import RingwakeCore

extension Configuration {
    /// The most apps that `apps.d` may hold.
    private nonisolated static let maximumApps = 10_000

    /// Reads and checks the file of each app in `directory`; none when it is not there.
    nonisolated static func apps(
        in directory: String, defaults: WakeDefaults
    ) throws(RingwakeError) -> [AppID: AppConfiguration] {
        guard FileSystem.exists(directory) else { return [:] }
        let names: [String]
        do {
            names = try FileSystem.entries(of: directory)
        } catch {
            throw RingwakeError(.system, "the folder \(directory) cannot be listed: \(error.reason)")
        }
        var apps: [AppID: AppConfiguration] = [:]
        for name in names where name.hasSuffix(".toml") && !name.hasPrefix(".") {
            guard apps.count < maximumApps else {
                throw RingwakeError(.badConfiguration, "\(directory) holds more than \(maximumApps) apps")
            }
            let app = try app(
                file: directory + "/" + name, name: String(name.dropLast(".toml".count)), defaults: defaults)
            apps[app.id] = app
        }
        return apps
    }

    private nonisolated static func app(
        file: String, name: String, defaults: WakeDefaults
    ) throws(RingwakeError) -> AppConfiguration {
        guard let id = AppID(name) else {
            throw RingwakeError(
                .badConfiguration,
                "\(file): the file is named after the app, com.example.phone.toml, and '\(name)' is not a bundle id")
        }
        let document = try TOMLDocument(parsing: read(file, isApp: true), file: file)
        var reader = try TOMLReader(document)
        // A key that is written wrong is named before the one that is missing for it.
        let wakeTable = try reader.table("wake")
        let payload = try reader.table("payload")
        var app = AppConfiguration(id: id, file: file, way: nil)
        if var calls = try reader.table("calls") {
            app.deadlines = try DeadlineOverrides(&calls)
            try app.rules.readCalls(&calls)
            try calls.refuseUnknownKeys()
        }
        try app.rules.readStrikes(&reader)
        app.targets = try targets(&reader)
        if var ring = try reader.table("ring") {
            app.ringtone = absolute(try ring.string("ringtone"), directory(of: file))
            try ring.refuseUnknownKeys()
        }
        if var restrictions = try reader.table("restrictions") {
            app.level = try restrictions.integer("level", in: RestrictionSettings.levels)
            app.limits = try LimitOverrides(&restrictions)
            try restrictions.refuseUnknownKeys()
        }
        if var restoration = try reader.table("restoration") {
            app.keepsState = try restoration.boolean("state") ?? false
            try restoration.refuseUnknownKeys()
        }
        try reader.refuseUnknownKeys()
        guard let wakeTable else { throw reader.missing("wake") }
        (app.way, app.instances) = try wake(wakeTable, defaults: defaults)
        if let payload {
            var table = payload
            app.preset = try table.string("preset")
            app.mapping = try PayloadMapping(payload)
        }
        return app
    }
}

extension DeadlineOverrides {
    /// Reads the durations of a section `[calls]`.
    nonisolated init(_ reader: inout TOMLReader) throws(RingwakeError) {
        self.init(
            report: try reader.duration("report"), ring: try reader.duration("ring"),
            action: try reader.duration("action"), connected: try reader.duration("connected"),
            claim: try reader.duration("claim"))
    }
}

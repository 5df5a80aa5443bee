internal import FileSystem
internal import RingwakeCore

extension Configuration {
    /// The most apps that `apps.d` may hold.
    private nonisolated static let maximumApps = 10_000

    /// Reads and checks the file of each app in `directory`; none when it is not there.
    nonisolated static func apps(in directory: String) throws(RingwakeError) -> [AppID: AppConfiguration] {
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
            let app = try app(file: directory + "/" + name, name: String(name.dropLast(".toml".count)))
            apps[app.id] = app
        }
        return apps
    }

    private nonisolated static func app(file: String, name: String) throws(RingwakeError) -> AppConfiguration {
        guard let id = AppID(name) else {
            throw RingwakeError(
                .badConfiguration,
                "\(file): the file is named after the app, com.example.phone.toml, and '\(name)' is not a bundle id")
        }
        let document = try TOMLDocument(parsing: read(file, isApp: true), file: file)
        var reader = try TOMLReader(document)
        // A key that is written wrong is named before the one that is missing for it.
        let table = try reader.table("wake")
        let payload = try reader.table("payload")
        let deadlines = try DeadlineOverrides(&reader)
        let targets = try targets(&reader)
        try reader.refuseUnknownKeys()
        guard var wake = table else { throw reader.missing("wake") }
        let command = try wake.strings("exec")
        let instances = try instances(&wake)
        try wake.refuseUnknownKeys()
        guard let exec = command else { throw wake.missing("exec") }
        guard let path = exec.first, path.hasPrefix("/") else {
            throw wake.invalid("exec", "begins with the handler's absolute path; no shell looks it up")
        }
        let mapping = try payload.map { table throws(RingwakeError) in try PayloadMapping(table) } ?? PayloadMapping()
        return AppConfiguration(
            id: id, file: file, exec: exec, instances: instances, mapping: mapping, deadlines: deadlines,
            targets: targets)
    }

    private nonisolated static func instances(_ wake: inout TOMLReader) throws(RingwakeError) -> HandlerInstances {
        guard let name = try wake.string("instances") else { return .app }
        guard let instances = HandlerInstances(rawValue: name) else {
            throw wake.invalid("instances", "is 'app' or 'call', not '\(name)'")
        }
        return instances
    }
}

extension DeadlineOverrides {
    /// Reads the section `[calls]`.
    nonisolated init(_ root: inout TOMLReader) throws(RingwakeError) {
        self.init()
        guard var reader = try root.table("calls") else { return }
        report = try reader.duration("report")
        ring = try reader.duration("ring")
        action = try reader.duration("action")
        connected = try reader.duration("connected")
        try reader.refuseUnknownKeys()
    }
}

internal import FileSystem
package import RingwakeCore

extension Configuration {
    /// Maximum bytes of a configuration file.
    private static let maximumFileSize = 1 << 20
    /// Maximum files in `apps.d`, and in `teams.d`.
    private static let maximumFiles = 10_000

    /// Reads and checks `ringwaked.toml`, `teams.d` and `apps.d`. It doesn't open the certificates and keys that they name.
    ///
    /// - Throws: `badConfiguration` with file, line and key, `notFound` if the file doesn't exist, `system` if it can't
    ///   be read.
    package static func load(file: String, defaults: StandardPaths) throws(RingwakeError) -> Configuration {
        let document = try TOMLDocument(parsing: read(file), file: file)
        var configuration = Configuration(file: file, defaults: defaults)
        try table.read(TOMLReader(document), into: &configuration)
        if configuration.server == nil, !configuration.listeners.isEmpty {
            throw RingwakeError(
                .badConfiguration,
                "\(file): there is a [[listener]], but no [server] with its certificate and key; "
                    + "'ringwake certs dev-ca --directory \(directory(of: file))/certs' makes one for development")
        }
        try configuration.readTeams()
        try configuration.readApps()
        return configuration
    }

    /// Reads and checks every app's file. A missing directory means that there are no apps.
    private mutating func readApps() throws(RingwakeError) {
        for (file, name) in try Configuration.files(in: appsDirectory) {
            let app = try app(file: file, name: name)
            apps[app.id] = app
        }
    }

    /// Reads and checks every team's file. A missing directory means that there are none.
    private mutating func readTeams() throws(RingwakeError) {
        for index in teams.indices { teams[index].file = file }
        for (file, name) in try Configuration.files(in: teamsDirectory) {
            if let other = teams.first(where: { $0.id == name }) {
                throw RingwakeError(
                    .badConfiguration,
                    "the team '\(name)' is in \(other.file) and in \(file); remove one of them")
            }
            let document = try TOMLDocument(parsing: Configuration.read(file, of: "team"), file: file)
            var team = Team(id: name, file: file)
            try Configuration.teamFile.read(TOMLReader(document), into: &team)
            teams.append(team)
        }
    }

    /// The TOML files of a directory with their names, without the suffix; none if the directory is missing.
    private static func files(in directory: String) throws(RingwakeError) -> [(path: String, name: String)] {
        guard FileSystem.exists(directory) else { return [] }
        let suffix = ".toml"
        let names: [String]
        do {
            names = try FileSystem.entries(of: directory).filter { $0.hasSuffix(suffix) && !$0.hasPrefix(".") }
        } catch {
            throw RingwakeError(.system, "the folder \(directory) cannot be listed: \(error.reason)")
        }
        guard names.count <= maximumFiles else {
            throw RingwakeError(.badConfiguration, "\(directory) has more than \(maximumFiles) files; remove some")
        }
        return names.map { ("\(directory)/\($0)", String($0.dropLast(suffix.count))) }
    }

    private func app(file: String, name: String) throws(RingwakeError) -> AppConfiguration {
        guard let id = AppID(name) else {
            throw RingwakeError(
                .badConfiguration,
                "\(file): the file is named after the app, com.example.phone.toml, and '\(name)' is not a bundle id")
        }
        let document = try TOMLDocument(parsing: Configuration.read(file, of: "app"), file: file)
        var app = AppConfiguration(id: id, file: file, defaults: self)
        try AppConfiguration.table.read(TOMLReader(document), into: &app)
        return app.resolved
    }

    /// The bytes of the configuration file, or of the file of a team or an app.
    private static func read(_ file: String, of owner: String? = nil) throws(RingwakeError) -> [UInt8] {
        do {
            return try FileSystem.read(file, maximumSize: maximumFileSize)
        } catch {
            if let owner {
                throw RingwakeError(
                    .badConfiguration,
                    "the \(owner)'s file \(file) cannot be read: \(error.reason); make it a readable file, or remove it"
                )
            }
            let code: RingwakeError.Code = FileSystem.exists(file) ? .system : .notFound
            throw RingwakeError(
                code,
                "the configuration file \(file) cannot be read: \(error.reason); "
                    + "give another with --config, or start from deploy/ringwaked.toml")
        }
    }
}

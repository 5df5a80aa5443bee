internal import FileSystem
package import RingwakeCore

extension Configuration {
    /// Maximum bytes of a configuration file.
    private static let maximumFileSize = 1 << 20
    /// Maximum files in `apps.d`, and in `teams.d`.
    private static let maximumFiles = 10_000

    /// Reads and checks `ringwaked.toml`, its drop-ins, `teams.d` and `apps.d`. It doesn't open the certificates and keys
    /// that they name. A wrong file of a team or an app is set aside.
    ///
    /// - Parameter former: the configuration in use. What it has for a team or app whose file is wrong stays.
    /// - Throws: `badConfiguration` with file, line and key, `notFound` if the file doesn't exist, `notPermitted` if this
    ///   user may not read it, `system` if it can't be read.
    package static func load(
        file: String, defaults: StandardPaths, former: Configuration? = nil
    ) throws(RingwakeError) -> Configuration {
        var document = try TOMLDocument(parsing: read(file), file: file)
        var configuration = Configuration(file: file, defaults: defaults)
        for (file, _) in try files(in: configuration.dropInDirectory) {
            document.merge(try TOMLDocument(parsing: read(file, of: "drop-in"), file: file))
        }
        try table.read(TOMLReader(document), into: &configuration)
        try configuration.checkRole()
        if configuration.server == nil, !configuration.listeners.isEmpty {
            throw RingwakeError(
                .badConfiguration,
                "\(file): there is a [[listener]], but no [server] with its certificate and key; "
                    + "'ringwake certs dev-ca --directory \(directory(of: file))/certs' makes one for development")
        }
        configuration.origins = SettingOrigin.all(of: configuration, from: document)
        try configuration.readTeams(former)
        try configuration.readApps(former)
        return configuration
    }

    /// Checks that the parts that the role needs are there, and no others.
    private func checkRole() throws(RingwakeError) {
        let fault: String? =
            switch role {
            case .device where !listeners.isEmpty:
                "role = \"device\" takes pushes from its gateway only; remove [[listener]], or the role"
            case .device where gateway.isOn:
                "role = \"device\" accepts no links; remove [gateway], or the role"
            case .gateway where !gateway.isOn:
                "role = \"gateway\" needs [gateway] with 'listen' or 'on_push_ports'"
            case .both where gateway.onPushPorts && listeners.isEmpty && !isSystem,
                .gateway where gateway.onPushPorts && listeners.isEmpty && !isSystem:
                "[gateway] on_push_ports = true needs a [[listener]]"
            case .both where gateway.isOn && server == nil, .gateway where server == nil:
                "[gateway] needs [server] with its certificate and key; 'ringwake setup' makes one for development"
            case .both, .device, .gateway: nil
            }
        if let fault { throw RingwakeError(.badConfiguration, "\(file): \(fault)") }
    }

    /// Reads and checks every app's file. A missing directory means that there are no apps.
    private mutating func readApps(_ former: Configuration?) throws(RingwakeError) {
        for (file, name) in try Configuration.files(in: appsDirectory) {
            guard role != .gateway else {
                let why = "\(file): this daemon is a gateway, which has no apps; add the app on its device"
                setAside.append(SetAside(owner: .nobody, file: file, why: why, usesFormer: false))
                continue
            }
            guard let id = AppID(name) else {
                let why =
                    "\(file): the file is named after the app, com.example.phone.toml, and '\(name)' is not a bundle id"
                setAside.append(SetAside(owner: .nobody, file: file, why: why, usesFormer: false))
                continue
            }
            do throws(RingwakeError) {
                apps[id] = try app(id, file: file)
            } catch {
                setAside(app: id, file: file, error, former: former)
            }
        }
    }

    private func app(_ id: AppID, file: String) throws(RingwakeError) -> AppConfiguration {
        let document = try TOMLDocument(parsing: Configuration.read(file, of: "app's file"), file: file)
        var app = AppConfiguration(id: id, file: file, defaults: self)
        try AppConfiguration.table.read(TOMLReader(document), into: &app)
        return app.resolved
    }

    /// Reads and checks every team's file. A missing directory means that there are none.
    private mutating func readTeams(_ former: Configuration?) throws(RingwakeError) {
        for index in teams.indices { teams[index].file = file }
        for (file, name) in try Configuration.files(in: teamsDirectory) {
            if let other = teams.first(where: { $0.id == name }) {
                let why = "the team '\(name)' is in \(other.file) and in \(file); remove one of them"
                setAside.append(SetAside(owner: .team(name), file: file, why: why, usesFormer: true))
                continue
            }
            do throws(RingwakeError) {
                teams.append(try Configuration.team(name, file: file))
            } catch {
                setAside(team: name, file: file, error, former: former)
            }
        }
    }

    private static func team(_ id: String, file: String) throws(RingwakeError) -> Team {
        let document = try TOMLDocument(parsing: read(file, of: "team's file"), file: file)
        var team = Team(id: id, file: file)
        let reader = try TOMLReader(document)
        try teamFile.read(reader, into: &team)
        try team.check(reader)
        return team
    }

    /// The TOML files of a directory in the order of their names, with those names without the suffix; none if the
    /// directory is missing.
    private static func files(in directory: String) throws(RingwakeError) -> [(path: String, name: String)] {
        let suffix = ".toml"
        let names: [String]
        do {
            names = try FileSystem.entries(of: directory).filter { $0.hasSuffix(suffix) && !$0.hasPrefix(".") }
        } catch {
            if error.isMissing, !FileSystem.exists(directory) { return [] }
            throw RingwakeError(
                error.isDenied ? .notPermitted : .system, "the folder \(directory) cannot be listed: \(error.reason)")
        }
        guard names.count <= maximumFiles else {
            throw RingwakeError(.badConfiguration, "\(directory) has more than \(maximumFiles) files; remove some")
        }
        return names.sorted().map { ("\(directory)/\($0)", String($0.dropLast(suffix.count))) }
    }

    /// The bytes of the configuration file, or of another that `kind` describes.
    private static func read(_ file: String, of kind: String? = nil) throws(RingwakeError) -> [UInt8] {
        do {
            return try FileSystem.read(file, maximumSize: maximumFileSize)
        } catch {
            if let kind {
                throw RingwakeError(
                    .badConfiguration,
                    "the \(kind) \(file) cannot be read: \(error.reason); make it a readable file, or remove it")
            }
            let (code, advice): (RingwakeError.Code, String) =
                error.isDenied
                ? (.notPermitted, "run this as root, or check owner, group and mode of the file and of its folders")
                : (
                    error.isMissing ? .notFound : .system,
                    "give another with --config, or let 'ringwake setup' write one"
                )
            throw RingwakeError(
                code, "the configuration file \(file) cannot be read: \(error.reason); \(advice)")
        }
    }
}

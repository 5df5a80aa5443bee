internal import FileSystem
package import RingwakeCore

extension Configuration {
    /// Maximum bytes of a configuration file.
    private static let maximumFileSize = 1 << 20
    /// Maximum apps in `apps.d`.
    private static let maximumApps = 10_000

    /// Reads and checks `ringwaked.toml` and `apps.d`. It doesn't open the certificates and keys that they name.
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
        try configuration.readApps()
        return configuration
    }

    /// Reads and checks every app's file. A missing directory means that there are no apps.
    private mutating func readApps() throws(RingwakeError) {
        guard FileSystem.exists(appsDirectory) else { return }
        let names: [String]
        do {
            names = try FileSystem.entries(of: appsDirectory)
        } catch {
            throw RingwakeError(.system, "the folder \(appsDirectory) cannot be listed: \(error.reason)")
        }
        for name in names where name.hasSuffix(".toml") && !name.hasPrefix(".") {
            guard apps.count < Configuration.maximumApps else {
                throw RingwakeError(
                    .badConfiguration, "\(appsDirectory) has more than \(Configuration.maximumApps) apps; remove some")
            }
            let app = try app(file: appsDirectory + "/" + name, name: String(name.dropLast(".toml".count)))
            apps[app.id] = app
        }
    }

    private func app(file: String, name: String) throws(RingwakeError) -> AppConfiguration {
        guard let id = AppID(name) else {
            throw RingwakeError(
                .badConfiguration,
                "\(file): the file is named after the app, com.example.phone.toml, and '\(name)' is not a bundle id")
        }
        let document = try TOMLDocument(parsing: Configuration.read(file, isApp: true), file: file)
        var app = AppConfiguration(id: id, file: file, defaults: self)
        try AppConfiguration.table.read(TOMLReader(document), into: &app)
        return app.resolved
    }

    /// The bytes of the configuration file or of an app's file.
    private static func read(_ file: String, isApp: Bool = false) throws(RingwakeError) -> [UInt8] {
        do {
            return try FileSystem.read(file, maximumSize: maximumFileSize)
        } catch {
            if isApp {
                throw RingwakeError(
                    .badConfiguration,
                    "the app's file \(file) cannot be read: \(error.reason); make it a readable file, or remove it")
            }
            let code: RingwakeError.Code = FileSystem.exists(file) ? .system : .notFound
            throw RingwakeError(
                code,
                "the configuration file \(file) cannot be read: \(error.reason); "
                    + "give another with --config, or start from deploy/ringwaked.toml")
        }
    }
}

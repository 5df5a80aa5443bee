internal import DeviceServices
internal import FileSystem
internal import HTTPServer
internal import Logging
internal import PushJournal
internal import RingwakeCore

extension Configuration {
    /// The most bytes that a configuration file may have.
    private nonisolated static let maximumFileSize = 1 << 20

    /// Reads and checks `ringwaked.toml` and the apps beside it; does not open the certificates and keys they name.
    ///
    /// Throws `badConfiguration` with file, line and key for what is wrong in them, `notFound` when the file is not
    /// there, `system` when it cannot be read.
    nonisolated static func load(file: String, defaults: StandardPaths) throws(RingwakeError) -> Configuration {
        let document = try TOMLDocument(parsing: read(file), file: file)
        var reader = try TOMLReader(document)
        let base = directory(of: file)
        var configuration = Configuration(
            file: file,
            stateDirectory: absolute(try reader.string("state_directory"), base) ?? defaults.stateDirectory,
            runtimeDirectory: absolute(try reader.string("runtime_directory"), base) ?? defaults.runtimeDirectory,
            server: try server(&reader, base: base), listeners: try listeners(&reader),
            teams: try teams(&reader, base: base), deadlines: CallDeadlines(), journal: try journal(&reader),
            logLevel: try logLevel(&reader), reachability: try reachability(&reader),
            apps: [:])
        try configuration.readCalls(&reader)
        configuration.wake = try WakeDefaults(&reader, defaults: defaults.wake)
        configuration.ring = try RingSettings(&reader, base: base)
        configuration.audio = try AudioSettings(&reader, base: base)
        configuration.restrictions = try RestrictionSettings(&reader)
        configuration.awake = try awake(&reader)
        configuration.watchesCellular = try watchesCellular(&reader)
        configuration.notRestored = try notRestored(&reader)
        try reader.refuseUnknownKeys()
        if configuration.server == nil, !configuration.listeners.isEmpty {
            throw RingwakeError(
                .badConfiguration,
                "\(file): there is a [[listener]], but no [server] with its certificate and key; "
                    + "'ringwake certs dev-ca --directory \(base)/certs' makes one for development")
        }
        configuration.apps = try apps(in: configuration.appsDirectory, defaults: configuration.wake)
        return configuration
    }

    /// The bytes of a configuration file, or of an app's.
    nonisolated static func read(_ file: String, isApp: Bool = false) throws(RingwakeError) -> [UInt8] {
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
                    + "give another with --config, or start from the example that comes with ringwaked")
        }
    }

    nonisolated static func absolute(_ path: String?, _ base: String) -> String? {
        guard let path else { return nil }
        return path.hasPrefix("/") ? path : base + "/" + path
    }

    private nonisolated static func server(
        _ root: inout TOMLReader, base: String
    ) throws(RingwakeError) -> Server? {
        guard var reader = try root.table("server") else { return nil }
        let certificate = absolute(try reader.string("certificate"), base)
        let key = absolute(try reader.string("key"), base)
        let authorities = try reader.strings("provider_cas") ?? []
        try reader.refuseUnknownKeys()
        guard let certificate else { throw reader.missing("certificate") }
        guard let key else { throw reader.missing("key") }
        return Server(
            certificateFile: certificate, keyFile: key,
            providerCAFiles: authorities.compactMap { absolute($0, base) })
    }

    private nonisolated static func listeners(_ root: inout TOMLReader) throws(RingwakeError) -> [Listener] {
        var listeners: [Listener] = []
        for var reader in try root.tables("listener") {
            let given = try reader.string("address")
            let name = try reader.string("environment") ?? PushEnvironment.production.rawValue
            try reader.refuseUnknownKeys()
            guard let text = given else { throw reader.missing("address") }
            guard let environment = PushEnvironment(rawValue: name) else {
                throw reader.invalid("environment", "is 'development' or 'production', not '\(name)'")
            }
            let address: SocketAddress
            do {
                address = try SocketAddress(parsing: text)
            } catch {
                throw reader.invalid("address", "is not one: \(error.message)")
            }
            if listeners.contains(where: { $0.text == text && !text.hasSuffix(":0") }) {
                throw reader.invalid("address", "'\(text)' is there twice")
            }
            listeners.append(Listener(text: text, address: address, environment: environment))
        }
        return listeners
    }

    private nonisolated static func teams(_ root: inout TOMLReader, base: String) throws(RingwakeError) -> [Team] {
        var teams: [Team] = []
        for var reader in try root.tables("team") {
            guard let id = try reader.string("id") else { throw reader.missing("id") }
            guard !id.isEmpty, !teams.contains(where: { $0.id == id }) else {
                throw reader.invalid("id", "is empty or there twice: '\(id)'")
            }
            var team = Team(id: id, topics: try reader.strings("topics"), keyFiles: [:])
            for var key in try reader.tables("key") {
                let name = try key.string("id")
                let path = absolute(try key.string("file"), base)
                try key.refuseUnknownKeys()
                guard let keyID = name else { throw key.missing("id") }
                guard let file = path else { throw key.missing("file") }
                guard team.keyFiles.updateValue(file, forKey: keyID) == nil else {
                    throw key.invalid("id", "'\(keyID)' is there twice")
                }
            }
            try reader.refuseUnknownKeys()
            teams.append(team)
        }
        return teams
    }

    private nonisolated static func journal(_ root: inout TOMLReader) throws(RingwakeError) -> JournalLimits {
        var limits = JournalLimits()
        guard var reader = try root.table("journal") else { return limits }
        limits.maximumAge = try reader.duration("keep") ?? limits.maximumAge
        limits.maximumPushes = try reader.integer("pushes", in: 10_000...10_000_000) ?? limits.maximumPushes
        try reader.refuseUnknownKeys()
        return limits
    }

    /// Reads `[calls]` and `[strikes]`.
    private nonisolated mutating func readCalls(_ root: inout TOMLReader) throws(RingwakeError) {
        if var reader = try root.table("calls") {
            deadlines = try DeadlineOverrides(&reader).merged(into: CallDeadlines())
            try rules.readCalls(&reader)
            try reader.refuseUnknownKeys()
        }
        try rules.readStrikes(&root)
    }

    private nonisolated static func logLevel(_ root: inout TOMLReader) throws(RingwakeError) -> Logger.Level {
        guard var reader = try root.table("log") else { return .info }
        let name = try reader.string("level") ?? Logger.Level.info.rawValue
        try reader.refuseUnknownKeys()
        guard let level = Logger.Level(rawValue: name) else {
            let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw reader.invalid("level", "is one of \(levels), not '\(name)'")
        }
        return level
    }
}

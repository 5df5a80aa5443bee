import Cryptography
package import DeviceLink
import FileSystem
package import RingwakeCore

/// Stores the device tokens: registered, unregistered, expired.
///
/// Two kinds of file are in the state directory: `tokens.json` with every token's hash and record, and `apps/ID.json`
/// with the plain tokens of a registered app. Each has a second copy (``StateFile``), because a lost token costs the
/// calls of every sender that has it. A file that can't be understood is set aside and costs nothing else:
///
/// | unreadable with its copy | what stays |
/// |---|---|
/// | `tokens.json` | the tokens of `apps`; which tokens were removed is forgotten |
/// | `apps/ID.json` | pushes to the app's tokens are accepted by their hashes; it gets another token to show |
///
/// Two files can't change at once, so each change has an order that opening the store can complete:
///
/// | change | first | then | after a crash in between, opening |
/// |---|---|---|---|
/// | register | the app's file | `tokens.json` | registers the tokens that `tokens.json` doesn't contain |
/// | renew | the app's file | `tokens.json` | registers the new tokens; the former ones have not expired |
/// | unregister | `tokens.json` | the app's file is removed | removes the file, for its tokens are unregistered |
///
/// An app that is only missing from the configuration is still registered.
package final class TokenStore {
    /// Maximum unregistered and expired tokens. Older ones are forgotten; pushes to them are answered with BadDeviceToken.
    package nonisolated static let maximumUnregistered = 10_000
    /// Maximum registered tokens of all apps.
    package nonisolated static let maximumRegistered = 4096
    /// Maximum bytes of a topic.
    nonisolated static let maximumTopicBytes = 255

    private static let directoryMode: UInt32 = 0o700

    /// Whether no app has ever had a token.
    package var isEmpty: Bool { records.isEmpty }
    /// What was damaged when the store was opened, for a person.
    package private(set) var damage: [String] = []

    /// The device that tokens are bound to; nil if the machine isn't linked.
    package private(set) var device: DeviceID?
    /// Rises with each change of the registered tokens.
    package private(set) var revision: UInt64 = 0
    /// Called after the registered tokens of a linked device have changed.
    package var onRegistrations: (() -> Void)?

    private let directory: String
    private var records: [TokenHash: TokenRecord] = [:]
    private var slots: [LinkSlot: TokenHash] = [:]
    private var apps: [AppID: AppTokens] = [:]

    /// Opens or creates the store, and completes a change that a crash interrupted.
    ///
    /// The caller makes sure that no other process uses the directory.
    ///
    /// - Parameter directory: the state directory; created if missing.
    /// - Throws: `system` if it can't be read; `conflict` if a newer version wrote it.
    package init(directory: String) throws(RingwakeError) {
        self.directory = directory
        do throws(FileSystemError) {
            for folder in ["apps", DoubleFile.copies + "/apps"] {
                try FileSystem.createDirectory("\(directory)/\(folder)", mode: TokenStore.directoryMode)
            }
        } catch {
            throw RingwakeError(
                .system,
                "'\(error.path)' cannot be made: \(error.reason); it has to be a folder that this user may write to. "
                    + "Move away what is there, or name another state directory.")
        }
        let file = noting(
            try tokensFile.read { (file) throws(RingwakeError) in (file, try file.records()) },
            loss: "the tokens of 'apps' stay in force, and only which tokens were removed is forgotten")
        records = file?.1 ?? [:]
        (device, revision) = (file?.0.device, file?.0.revision ?? 0)
        try readApps()
        completeWhatACrashLeft()
        noteSlots()
    }

    /// The record of a token; nil if it was never ours, or has been forgotten.
    package func record(for token: DeviceToken) -> TokenRecord? {
        records[TokenHash(token)]
    }

    /// The record of a registered token by its name on the link.
    package func record(for slot: LinkSlot) -> TokenRecord? {
        slots[slot].flatMap { records[$0] }
    }

    /// The name on the link of an app's token in an environment; nil if it has none.
    package func slot(of app: AppID, in environment: PushEnvironment) -> LinkSlot? {
        apps[app]?.tokens[environment].flatMap { records[TokenHash($0)]?.slot }
    }

    /// The registered tokens as a gateway gets them.
    package var registrations: LinkRegistrations {
        LinkRegistrations(revision: revision, registrations: records.registrations)
    }

    /// Makes new tokens for all apps, bound to a device or to none: all former ones expire.
    ///
    /// - Parameter time: now, in ms since 1970. Senders get this time.
    /// - Throws: `system` if a file can't be written. What was changed until then stays; call it again.
    package func bind(to device: DeviceID?, at time: Int64) throws(RingwakeError) {
        let former = self.device
        self.device = device
        for app in apps.keys.sorted(by: { $0.rawValue < $1.rawValue }) where apps[app]?.tokens.isEmpty == false {
            do throws(RingwakeError) {
                try renew(app: app, at: time)
            } catch {
                self.device = former
                throw error
            }
        }
        // Those of an app whose file was lost too.
        let current = Set(apps.values.flatMap { $0.tokens.values.map { TokenHash($0) } })
        try write(records.expiring(at: time) { !current.contains($0) }.withoutTheOldest)
    }

    /// Makes the gateway get the registrations again.
    ///
    /// - Throws: `system` if the file can't be written.
    package func raiseRevision() throws(RingwakeError) { try write(records) }

    /// Changes the registered tokens as a client reset asks for.
    ///
    /// A token that is taken from the gateway reaches its app by its hash; it can't be shown.
    ///
    /// - Parameter time: now, in ms since 1970. Senders get this time for what expires.
    /// - Throws: `system` if a file can't be written. What was changed until then stays. `invalidRequest` if the gateway's
    ///   revision can't be true; then nothing is changed.
    package func apply(_ plan: LinkResetPlan, at time: Int64) throws(RingwakeError) {
        revision = try TokenRevision.raised(revision, to: plan.above)
        let hashes = Set(plan.expired.compactMap { TokenHash(hex: $0) })
        let hit = Set(records.filter { hashes.contains($0.key) }.map(\.value.app))
        var changed = records
        for hash in hashes { changed[hash] = changed[hash]?.with(.expired(at: time)) }
        for registration in plan.adopted {
            guard let hash = TokenHash(hex: registration.token), let topic = registration.topics.first else { continue }
            changed[hash] = TokenRecord(
                app: registration.app, topic: topic, environment: registration.environment, state: .registered,
                slot: registration.slot)
        }
        try write(changed.withoutTheOldest)
        for app in hit.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard var content = apps[app] else { continue }
            for (environment, token) in content.tokens where hashes.contains(TokenHash(token)) {
                content.tokens[environment] = try makeToken(environment)
            }
            try store(content, of: app)
        }
    }

    /// The tokens of a registered app; empty if it isn't registered.
    package func tokens(of app: AppID) -> [PushEnvironment: DeviceToken] {
        apps[app]?.tokens ?? [:]
    }

    /// Gives an app a token for each of these environments. Existing tokens stay the same.
    ///
    /// If the app's file was lost, its plain tokens are lost. Their records stay, because senders have the tokens; the
    /// app gets other ones to show.
    ///
    /// - Returns: the tokens for `environments`.
    /// - Throws: `system` if a file can't be written, `limitReached` at ``maximumRegistered``, `invalidRequest` for a
    ///   topic that is too long. Nothing has changed then.
    package func register(
        app: AppID, topic: Topic, environments: [PushEnvironment]
    ) throws(RingwakeError) -> [PushEnvironment: DeviceToken] {
        guard topic.rawValue.utf8.count <= TokenStore.maximumTopicBytes else {
            throw RingwakeError(
                .invalidRequest,
                "The topic of '\(app)' has more than \(TokenStore.maximumTopicBytes) bytes; shorten it.")
        }
        var content = apps[app] ?? AppTokens(topic: topic, tokens: [:])
        content.topic = topic
        for environment in environments where content.tokens[environment] == nil {
            content.tokens[environment] = try makeToken(environment)
        }
        try store(content, of: app)
        return content.tokens.filter { environments.contains($0.key) }
    }

    /// Gives an app new tokens in the environments where it has one. All its former ones expire.
    ///
    /// - Parameter time: now, in ms since 1970. Senders get this time.
    /// - Throws: `notFound` if the app has no token; `system` if a file can't be written: the former tokens are valid
    ///   then, and after a restart perhaps the new ones too.
    package func renew(app: AppID, at time: Int64) throws(RingwakeError) {
        guard var content = apps[app], !content.tokens.isEmpty else {
            throw RingwakeError(
                .notFound, "The app '\(app)' has no token to renew; 'ringwake app list' shows those that have.")
        }
        for environment in content.tokens.keys { content.tokens[environment] = try makeToken(environment) }
        try store(content, of: app, expiringOthersAt: time)
    }

    private func store(_ content: AppTokens, of app: AppID, expiringOthersAt time: Int64? = nil) throws(RingwakeError) {
        let changed = try records(after: content, of: app, expiringOthersAt: time)
        if apps[app] != content {
            try file(of: app).write(AppTokenFile(app: app, content))
        }
        try replaceRecords(by: changed)
        apps[app] = content
    }

    /// Unregisters an app's tokens.
    ///
    /// - Parameter time: now, in ms since 1970. Senders get this time.
    /// - Throws: `notFound` if the app isn't registered; `system` if a file can't be written.
    package func unregister(app: AppID, at time: Int64) throws(RingwakeError) {
        // An app without an environment has a file but no token.
        guard apps[app] != nil || records.values.contains(where: { $0.app == app && $0.state == .registered }) else {
            throw RingwakeError(
                .notFound, "The app '\(app)' is not registered; 'ringwake app list' shows those that are.")
        }
        try replaceRecords(
            by: records.mapValues { record in
                record.app == app && record.state == .registered ? record.with(.unregistered(at: time)) : record
            })
        apps[app] = nil
        try removeFile(of: app)
    }
}

extension TokenStore {
    /// The records after an app gets these tokens.
    ///
    /// - Parameter time: when all its other tokens expire; nil: they stay as they are.
    private func records(
        after content: AppTokens, of app: AppID, expiringOthersAt time: Int64?
    ) throws(RingwakeError) -> [TokenHash: TokenRecord] {
        var changed = records
        if let time {
            for (hash, record) in records where record.app == app && record.state == .registered {
                changed[hash] = record.with(.expired(at: time))
            }
        }
        let current = Dictionary(
            content.tokens.map { (TokenHash($0.value), $0.key) }, uniquingKeysWith: { first, _ in first })
        for (hash, environment) in current {
            changed[hash] = TokenRecord(
                app: app, topic: content.topic, environment: environment, state: .registered,
                slot: try slot(of: hash))
        }
        let registered = changed.values.count { $0.state == .registered }
        guard registered <= TokenStore.maximumRegistered else {
            throw RingwakeError(
                .limitReached,
                "There are \(TokenStore.maximumRegistered) device tokens already; "
                    + "remove an app with 'ringwake app remove'.")
        }
        return changed
    }

    /// Replaces the records on disk, then in memory. Does nothing if they are the same.
    private func replaceRecords(by changed: [TokenHash: TokenRecord]) throws(RingwakeError) {
        let kept = changed.withoutTheOldest
        guard kept != records else { return }
        try write(kept)
    }

    private func write(_ changed: [TokenHash: TokenRecord]) throws(RingwakeError) {
        let next = try TokenRevision.next(after: revision)
        try tokensFile.write(TokenFile(changed, device: device, revision: next))
        (records, revision) = (changed, next)
        noteSlots()
        if device != nil { onRegistrations?() }
    }

    private func noteSlots() { slots = records.slots }

    /// The name of a token on the link: the one that it has, or a new one.
    private func slot(of hash: TokenHash) throws(RingwakeError) -> LinkSlot? {
        if let known = records[hash] { return known.slot }
        guard device != nil else { return nil }
        while true {
            let slot = LinkSlot(
                rawValue: try SecureRandom.bytes(4).reduce(0) { $0 << 8 | UInt32($1) })
            guard slots[slot] != nil || records.values.contains(where: { $0.slot == slot }) else { return slot }
        }
    }

    /// Completes it in memory, and on the disk if that can be written to. Otherwise each start completes it again.
    private func completeWhatACrashLeft() {
        var changed = records
        for (app, content) in apps {
            var living = content
            for (environment, token) in content.tokens {
                let hash = TokenHash(token)
                if let known = records[hash], known.state != .registered {
                    living.tokens[environment] = nil
                } else {
                    changed[hash] = TokenRecord(
                        app: app, topic: content.topic, environment: environment, state: .registered,
                        slot: records[hash]?.slot ?? (try? slot(of: hash)) ?? nil)
                }
            }
            if living.tokens.isEmpty {
                apps[app] = nil
                noting { () throws(RingwakeError) in try removeFile(of: app) }
            } else if living != content {
                apps[app] = living
                noting { () throws(RingwakeError) in try file(of: app).write(AppTokenFile(app: app, living)) }
            }
        }
        let kept = changed.withoutTheOldest
        guard kept != records else { return }
        records = kept
        noting { () throws(RingwakeError) in try write(kept) }
    }

    /// Notes a failed write: what it was to store is in force without it.
    private func noting(_ write: () throws(RingwakeError) -> Void) {
        do throws(RingwakeError) {
            try write()
        } catch {
            damage.append("\(error.message) Until then each start completes it in memory.")
        }
    }

    private func makeToken(_ environment: PushEnvironment) throws(RingwakeError) -> DeviceToken {
        let token =
            if let device {
                LinkedToken.make(
                    device: device, environment: environment, random: try SecureRandom.bytes(LinkedToken.half),
                    sha256: { SHA256.digest($0) })
            } else {
                DeviceToken(bytes: try SecureRandom.bytes(DeviceToken.byteCount))
            }
        guard let token else {
            throw RingwakeError(.failed, "A device token could not be made; report this as a bug.")
        }
        return token
    }
}

extension TokenStore {
    private static let appFileEnding = ".json"
    private static let loss = "senders would be told that its tokens are gone"

    private var tokensFile: StateFile<TokenFile> {
        StateFile(
            name: "tokens.json", directory: directory, maximumSize: TokenFile.maximumBytes, loss: Self.loss)
    }

    private func file(of app: AppID) -> StateFile<AppTokenFile> {
        StateFile(
            name: "apps/\(app)\(Self.appFileEnding)", directory: directory, maximumSize: AppTokenFile.maximumBytes,
            loss: Self.loss)
    }

    private func removeFile(of app: AppID) throws(RingwakeError) {
        let file = file(of: app)
        do throws(FileSystemError) {
            try file.remove()
        } catch {
            throw RingwakeError(
                .system,
                "The tokens of '\(app)' are unregistered, but '\(file.path)' cannot be removed: \(error.reason); "
                    + "remove it.")
        }
    }

    /// Reads the tokens in every app's file. Files that aren't named after an app are ignored.
    private func readApps() throws(RingwakeError) {
        var names: Set<String> = []
        for folder in ["\(directory)/apps", "\(directory)/\(DoubleFile.copies)/apps"] {
            do throws(FileSystemError) {
                names.formUnion(try FileSystem.entries(of: folder))
            } catch {
                throw RingwakeError(
                    .system, "'\(folder)' cannot be read: \(error.reason); check its owner and permissions.")
            }
        }
        for name in names.sorted() where name.hasSuffix(Self.appFileEnding) {
            guard let app = AppID(String(name.dropLast(Self.appFileEnding.count))) else { continue }
            apps[app] = noting(
                try file(of: app).read { (file) throws(RingwakeError) in try file.content(of: app) },
                loss: "pushes to the app's tokens are accepted as before, but the tokens cannot be shown; it has "
                    + "another one now")
        }
    }

    /// Takes what was read, and notes the damage.
    ///
    /// - Parameter loss: what it means if nothing could be read.
    private func noting<Value>(_ reading: StateFile<some StateContents>.Reading<Value>, loss: String) -> Value? {
        switch reading {
        case .absent: return nil
        case .found(let value, let found):
            damage += found.map { [$0] } ?? []
            return value
        case .lost(let found):
            damage.append("\(found); \(loss)")
            return nil
        }
    }
}

internal import ControlProtocol
internal import Cryptography
internal import DBus
internal import DaemonConfiguration
internal import DataProtection
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// The protection of stored data: has the file of keys and what opens it, follows the lock of the device, and gives the
/// keys that are available to whoever reads and writes records.
///
///     DeviceLock, requests --> ProtectionStateMachine --> KeyDistribution --> the store, apps
///
/// Nothing that is wrong with the keys keeps the daemon from running: what arrives is sealed to the public keys in the file,
/// and calls ring. If the file can't be read, records get keys that exist in memory only: they are protected, and can't be
/// read after the daemon's end.
final class ProtectionService {
    let settings: ProtectionSettings
    let lock: DeviceLock
    let distribution = KeyDistribution()
    /// Called when the keys of a class were deleted.
    var onDeletion: (ProtectionClass) -> Void = { _ in }
    /// How far the records of a class have been written again under its present key; nil: they are.
    var progress: (ProtectionClass) -> (done: Int64, total: Int64)? = { _ in nil }

    /// Keys that records have and the file doesn't.
    var missingKeys: () -> MissingKeys = { MissingKeys(generations: [:]) }

    private(set) var machine: ProtectionStateMachine
    /// What of the configuration isn't in force, or why the last unlocking failed.
    private(set) var note: String?
    /// Whether something is wrong with the keys, or with what opens them.
    private(set) var isUnusable = false
    private(set) var lockedAt: BootInstant?
    private let sources: RootKeys
    private var keys: OpenKeys
    private let runLoop: RunLoop
    let logger: Logger
    private var limit = TryLimit()
    private let tpm: TPMWork
    // A suspended machine isn't woken to drop the keys: the machine drops them before anything else when it resumes.
    private lazy var driver = StateMachineDriver<ProtectionStateMachine.Input>(
        runLoop: runLoop, tolerance: .milliseconds(500), wakingFromSuspend: false, deadlineReached: .deadlineReached,
        nextDeadline: { [unowned self] in
            machine.nextDeadline.map { BootClock.Instant(nanoseconds: $0.nanoseconds) }
        },
        apply: { [unowned self] input in for effect in machine.handle(input, at: now) { run(effect) } },
        settled: { [unowned self] in settle() })

    /// Reads the file of keys, or makes it where that needs no person. Call it while the process has one thread: see
    /// `TPM.prepare`. ``KeyDistribution/ring`` has the first keys then.
    ///
    /// - Parameters:
    ///   - directory: the state directory.
    ///   - credentialsDirectory: `$CREDENTIALS_DIRECTORY`.
    ///   - gracePeriod: how long keys stay after a lock.
    init(
        _ settings: ProtectionSettings, directory: String, credentialsDirectory: String?, lock: DeviceLock,
        gracePeriod: Duration = ProtectionStateMachine.standardGracePeriod, runLoop: RunLoop, logger: Logger
    ) {
        machine = ProtectionStateMachine(gracePeriod: gracePeriod)
        self.settings = settings
        self.lock = lock
        self.runLoop = runLoop
        tpm = TPMWork(runLoop: runLoop)
        self.logger = logger
        keys = OpenKeys(path: "\(directory)/\(ProtectionFile.name)")
        sources = RootKeys(
            choice: settings.rootKey, path: keys.path, credentialsDirectory: credentialsDirectory, logger: logger)
        lock.onLock = { [weak self] in self?.driver.submit(.lock) }
        lock.onUnlock = { [weak self] in self?.screenUnlocked() }
        take(sources.find())
    }

    /// Begins to tell store and apps, and to follow the lock of the screen. Without protection that opens no bus.
    func begin() {
        distribution.begin()
        if !isOff { lock.begin() }
        let status = StatusMessage.Protection(self)
        logger.notice("protection", metadata: ["state": "\(status.state)", "why": "\(status.why ?? "")"])
    }

    func close() {
        lock.close()
        driver.cancelTimer()
        tpm.cancel()
    }

    var now: BootInstant { BootInstant(nanoseconds: BootClock.now().nanoseconds) }
    var isOff: Bool { if case .off = machine.state { true } else { false } }
    var file: ProtectionFile? { keys.file }
    private var needsPerson: Bool { file?.source.needsPerson == true }

    // MARK: - What opens the keys

    private func take(_ finding: RootKeys.Finding) {
        (note, isUnusable) = (nil, false)
        switch finding {
        case .off(let why, let file, let rootKey):
            keys.file = file
            isUnusable = file != nil && rootKey == nil
            setRing { () throws(RingwakeError) in
                let available = rootKey == nil ? [] : Set(ProtectionClass.withKeys)
                return try file?.ring(rootKey: rootKey, available: available, classes: [:]) ?? .off
            }
            driver.submit(.startWithoutKeys(why))
        case .open(let opened):
            take(opened)
            start(.available)
            replaceByTPM()
        case .needsPerson(let file, let note):
            (keys.file, self.note) = (file, note)
            start(.needsPerson)
        case .askTPM(let file):
            keys.file = file
            if file == nil {
                driver.submit(.startWithoutKeys("the TPM is making the first key"))
            } else {
                start(.missing("the TPM has not answered yet"))
            }
            askTPM(file)
        case .broken(let why, let file):
            keys.file = file
            isUnusable = true
            logger.error("the keys of protected data can't be opened", metadata: ["why": "\(why)"])
            start(.missing(why))
        }
    }

    private func take(_ opened: RootKeys.Opened) {
        (keys.file, keys.rootKey, note, isUnusable) = (opened.file, opened.rootKey, opened.note, false)
    }

    private func start(_ rootKey: ProtectionStateMachine.Start.RootKey, isLocked: Bool? = nil) {
        if machine.loadedClasses.isEmpty {
            setRing { () throws(RingwakeError) in try keys.closedRing(settings.classes.byKind) }
        }
        driver.submit(
            .start(
                .init(
                    rootKey: rootKey, wasUnlockedInThisBoot: lock.record.unlocked,
                    isSessionLocked: isLocked ?? lock.isLocked)))
    }

    private func setRing(_ make: () throws(RingwakeError) -> KeyRing) {
        do throws(RingwakeError) {
            var ring = try make()
            ring.keepTemporaryKeys(of: distribution.ring)
            distribution.ring = ring
        } catch {
            (isUnusable, note) = (true, error.message)
            logger.error("the keys of protected data can't be used", metadata: ["why": "\(error.message)"])
        }
    }

    // MARK: - The TPM

    /// The configuration names the TPM, and the keys are under another source, which is open.
    private func replaceByTPM() {
        if settings.rootKey == .tpm, file?.source.kind != .tpm { askTPM(nil) }
    }

    /// - Parameter former: nil: makes a new key, for the keys that are there or for new ones.
    private func askTPM(_ former: ProtectionFile?) {
        tpm.ask(former) { [weak self] in self?.answered($0, isNew: former == nil) }
    }

    private func answered(_ result: Result<OpenedSource, RingwakeError>, isNew: Bool) {
        do throws(RingwakeError) {
            let opened = try result.get()
            if isNew { try takeNew(opened) } else { takeOpened(opened.rootKey) }
        } catch {
            if isNew, file != nil {
                note = "what 'root_key' names can't be used yet: \(error.message)"
            } else {
                take(.broken(error.message, file))
                if isNew { lock.begin() }
            }
            distribution.whenApplied { [tpm] in tpm.answer(.failure(error)) }
        }
    }

    private func takeOpened(_ rootKey: RootKey) {
        guard let file else { return }
        let opened = sources.migrated(file, rootKey)
        // With somebody who waits, it is a command or the screen that unlocks; else it is the start.
        guard tpm.isAwaited else { return take(.open(opened)) }
        take(opened)
        unlocked { [tpm] in tpm.answer($0) }
    }

    private func takeNew(_ opened: OpenedSource) throws(RingwakeError) {
        if file == nil {
            try keys.make(opened.source, opened.rootKey)
            start(.available)
            lock.begin()
        } else if keys.rootKey != nil {
            // If it was locked meanwhile, the next unlocking tries again.
            try keys.rewrap(opened.source, opened.rootKey)
        }
    }

    // MARK: - Effects

    private func run(_ effect: ProtectionStateMachine.Effect) {
        switch effect {
        case .announceUnavailable: logger.notice("protected data will become unavailable: the device is locked")
        case .announceAvailable: logger.notice("protected data are available: the device is unlocked")
        case .drop(let classes):
            for protection in classes {
                distribution.ring.keys[protection] = distribution.ring.keys[protection]?.map(\.locked)
            }
        case .load: load()
        case .rememberFirstUnlock: lock.rememberUnlock()
        }
    }

    private func load() {
        setRing { () throws(RingwakeError) in
            try file?.ring(
                rootKey: keys.rootKey, available: machine.loadedClasses, classes: settings.classes.byKind)
                ?? distribution.ring
        }
    }

    private func settle() {
        if case .locked = machine.state {
            keys.rootKey = nil
            lockedAt = lockedAt ?? now
        } else {
            lockedAt = nil
        }
        distribution.settle(machine.dataState)
    }

    // MARK: - The lock

    private func screenUnlocked() {
        // A machine that was asleep may get this before its timer: keys whose time is over must not be there for it.
        driver.submit(.deadlineReached)
        // It gives no passphrase. A lock that the screen began, it may take back within its ten seconds.
        if needsPerson, isLocked || lock.record.lockedByCommand { return }
        open { [logger] result in
            guard case .failure(let error) = result else { return }
            logger.error("protected data can't be unlocked", metadata: ["why": "\(error.message)"])
        }
    }

    /// Locks by command; `conflict` if nothing is protected.
    func lockByCommand() throws(RingwakeError) {
        try requireKeys()
        lock.set(lockedByCommand: true)
        driver.submit(.lock)
    }

    /// Unlocks by command.
    ///
    /// - Parameters:
    ///   - key: with a passphrase, the key that is made of it.
    ///   - completion: called when data can be read.
    /// - Throws: `conflict` if nothing is protected; `locked` without the key; `badCredential` for a wrong one, and
    ///   `limitReached` after some.
    func unlock(
        _ key: RootKey?, completion: @escaping (Result<Void, RingwakeError>) -> Void
    ) throws(RingwakeError) {
        if isOff, needsPerson, let file, let key { return try giveUpProtection(file, key, completion) }
        try requireKeys()
        driver.submit(.deadlineReached)
        guard let file, needsPerson else {
            guard key == nil else {
                throw RingwakeError(.conflict, "no passphrase opens the keys; leave out 'key'")
            }
            return open(completion)
        }
        guard let key else {
            guard machine.state == .unlocked else {
                throw RingwakeError(.locked, "the passphrase is needed; run 'ringwake protection unlock'")
            }
            return unlocked(completion)
        }
        try limit.check(at: now, logger) { () throws(RingwakeError) in try file.verify(key) }
        // Keys that are there stay as they are, with what is wrong with them.
        guard isLocked else { return unlocked(completion) }
        take(sources.migrated(file, key))
        unlocked(completion)
        replaceByTPM()
    }

    /// `root_key` is "off", and a passphrase opens what was protected before: it is written again as it is.
    private func giveUpProtection(
        _ file: ProtectionFile, _ key: RootKey, _ completion: @escaping (Result<Void, RingwakeError>) -> Void
    ) throws(RingwakeError) {
        try limit.check(at: now, logger) { () throws(RingwakeError) in try file.verify(key) }
        take(.off(RootKeys.offReason, file, key))
        settle()
        distribution.whenApplied { completion(.success(())) }
    }

    /// Unlocks with what is there without a person.
    private func open(_ completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        guard isLocked else { return unlocked(completion) }
        if let file, file.source.kind == .tpm {
            tpm.wait(completion)
            return askTPM(file)
        }
        // The file or the key may be there now.
        let found = sources.find()
        switch found {
        case .open(let opened):
            take(opened)
            unlocked(completion)
        case .broken(let why, let file):
            // The keys that are loaded stay: a key file on a medium that was removed locks nothing more.
            keys.file = keys.file ?? file
            (note, isUnusable) = (why, true)
            completion(.failure(RingwakeError(.failed, why)))
        case .off(let why, _, _):
            take(found)
            completion(.failure(RingwakeError(.conflict, "nothing is protected: \(why)")))
        case .needsPerson, .askTPM:
            take(found)
            completion(.failure(RingwakeError(.locked, "what opens the keys is another source now; unlock again")))
        }
    }

    private func unlocked(_ completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        lock.set(lockedByCommand: false)
        driver.submit(.unlock)
        distribution.whenApplied { completion(.success(())) }
    }

    private var isLocked: Bool { if case .locked = machine.state { true } else { false } }

    private func requireKeys() throws(RingwakeError) {
        if case .off(let why) = machine.state { throw RingwakeError(.conflict, "nothing is protected: \(why)") }
    }

    /// A lock that has begun keeps from changes of keys, as one that is over does: else a new passphrase would end it.
    private func requireUnlocked() throws(RingwakeError) {
        try requireKeys()
        guard case .locking = machine.state else { return }
        throw RingwakeError(.locked, "the device is being locked; run 'ringwake protection unlock' first")
    }

    // MARK: - Keys

    /// Makes new keys of these classes. The journal writes the records again. ``finishRekeying(of:before:)`` comes then.
    func rekey(_ classes: [ProtectionClass]) throws(RingwakeError) {
        try requireUnlocked()
        try missingKeys().requireNone(of: classes)
        try keys.rekey(classes)
        load()
        settle()
        logger.notice("new keys", metadata: ["classes": "\(classes.map(\.rawValue).joined(separator: ","))"])
    }

    /// No record is protected any more, and so none can't be read.
    func finishGivingUp() {
        if isUnusable { take(.off(RootKeys.offReason, nil, nil)) }
    }

    /// No record is left under a key of this class that is older than this generation.
    func finishRekeying(of protection: ProtectionClass, before generation: UInt32) throws(RingwakeError) {
        let isInFile = try keys.removeKeys(of: protection, before: generation)
        guard distribution.ring.removeKeys(of: protection, before: generation) || isInFile else { return }
        settle()
        logger.notice("the former keys are removed", metadata: ["class": "\(protection.rawValue)"])
    }

    /// Deletes the keys of a class: nobody can read its records any more.
    func delete(_ protection: ProtectionClass) throws(RingwakeError) {
        try requireUnlocked()
        try keys.delete(protection, after: missingKeys().generations[protection])
        _ = distribution.ring.removeKeys(of: protection, before: 0)
        load()
        settle()
        onDeletion(protection)
        logger.notice("the keys of a class are deleted", metadata: ["class": "\(protection.rawValue)"])
    }

    /// Sets the passphrase, or changes it.
    func setPassphrase(_ source: RootKeySource, _ new: RootKey) throws(RingwakeError) {
        try sources.requireThatPassphraseIsAllowed()
        if file != nil {
            try requireUnlocked()
            try keys.rewrap(source, new)
            note = nil
        } else {
            // One that is damaged may be restored.
            guard isOff else {
                throw RingwakeError(.conflict, StatusMessage.Protection(self).why ?? "the keys can't be opened")
            }
            try keys.make(source, new)
            start(.available, isLocked: false)
            lock.begin()
        }
        logger.notice("stored data has a new passphrase")
    }
}

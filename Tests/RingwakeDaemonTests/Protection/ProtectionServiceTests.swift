import ControlProtocol
import Cryptography
import DBus
import DaemonConfiguration
import DataProtection
import FileSystem
import FoundationEssentials
import Logging
import RingwakeCore
import RunLoop
import Testing

@testable import RingwakeDaemon

@Suite("The protection service, with real files and keys")
final class ProtectionServiceTests {
    private let folder: String
    private let loop: RunLoop
    private var published: [ProtectedDataState] = []
    private var services: [ProtectionService] = []

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/protection-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        loop = try RunLoop()
    }

    isolated deinit {
        for service in services { service.close() }
        try? FileManager.default.removeItem(atPath: folder)
    }

    private var keyFile: String { folder + "/root.key" }
    private var file: String { folder + "/" + ProtectionFile.name }
    private var copy: String { folder + "/copies/" + ProtectionFile.name }

    /// A service of one boot. It locks by command only.
    private func make(
        _ rootKey: RootKeyChoice, boot: String = "boot 1", credentials: String? = nil,
        gracePeriod: Duration = .milliseconds(200),
        _ change: (inout ProtectionSettings) -> Void = { _ in }
    ) -> ProtectionService {
        var settings = ProtectionSettings()
        settings.rootKey = rootKey
        settings.lock = .command
        change(&settings)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let bus = DBusService(
            address: .address("unix:path=\(folder)/nowhere"), environment: [:], runLoop: loop, logger: logger,
            label: "test")
        // As a restart has its own directory of the runtime, unless it is the same boot.
        let lock = DeviceLock(
            settings.lock, isSystem: false, directory: runtime, bootID: boot, systemBus: bus, logger: logger)
        let service = ProtectionService(
            settings, directory: folder, credentialsDirectory: credentials, lock: lock, gracePeriod: gracePeriod,
            runLoop: loop, logger: logger)
        published = []
        service.distribution.publish = { [weak self] in self?.published.append($0) }
        service.begin()
        services.append(service)
        return service
    }

    private var runtime: String {
        let path = folder + "/runtime"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    private func available(_ service: ProtectionService) -> Set<ProtectionClass> {
        Set(ProtectionClass.withKeys.filter { service.distribution.ring.isAvailable($0) })
    }

    private static let all = Set(ProtectionClass.withKeys)

    /// - Returns: the error; nil if it is unlocked.
    private func unlock(_ service: ProtectionService, _ key: RootKey? = nil) -> RingwakeError? {
        var result: Result<Void, RingwakeError>?
        do throws(RingwakeError) {
            try service.unlock(key) { result = $0 }
        } catch {
            return error
        }
        guard case .failure(let error) = result else { return result == nil ? RingwakeError(.failed, "silence") : nil }
        return error
    }

    /// Reaches the end of the grace period.
    private func waitUntilLocked(_ service: ProtectionService) {
        let end = BootClock.now().advanced(by: .seconds(300))
        while service.machine.dataState.isAvailable, BootClock.now() < end { loop.runOnce(timeout: .milliseconds(50)) }
    }

    private static let passphrase = RootKeySource.passphrase(
        salt: Array(0..<32), ScryptParameters(n: 2, r: 1, p: 1) ?? .standard)

    private func error(_ body: () throws(RingwakeError) -> Void) -> RingwakeError.Code? {
        do throws(RingwakeError) { try body() } catch { return error.code }
        return nil
    }

    // MARK: - Sources

    @Test("Without a key nothing is protected, the status says why, and no file is made")
    func off() {
        let service = make(.auto)
        #expect(
            service.isOff && StatusMessage.Protection(service).protectedDataAvailable
                && StatusMessage.Protection(service).unusable == nil)
        #expect(
            StatusMessage.Protection(service).why?.contains("systemd passes no credential 'ringwake-protection'")
                == true)
        #expect(!FileSystem.exists(file) && published.isEmpty)
        #expect(error { () throws(RingwakeError) in try service.lockByCommand() } == .conflict)
        #expect(unlock(service)?.code == .conflict)
        #expect(error { () throws(RingwakeError) in try service.rekey([.complete]) } == .conflict)
    }

    @Test("A key file that isn't there is made for its owner only, and opens the same keys after a restart")
    func keyFiles() throws {
        let first = make(.file(keyFile))
        #expect(StatusMessage.Protection(first).state == "unlocked" && available(first) == Self.all)
        #expect(try FileSystem.attributes(of: keyFile).mode & 0o777 == 0o600)
        let vault = RecordVault(first.distribution.ring)
        let record = try vault.seal([1, 2, 3], .payloads, place: "1")
        let second = make(.file(keyFile))
        #expect(try RecordVault(second.distribution.ring).open(record, .payloads, place: "1") == [1, 2, 3])
        // What the file names counts if the configuration names nothing.
        #expect(ProtectionMessage(make(.auto)).keyFile == keyFile)
    }

    @Test("The credential is used where systemd passes one, and takes the keys over from a key file")
    func credential() throws {
        let former = make(.file(keyFile))
        let record = try RecordVault(former.distribution.ring).seal([7], .callers, place: "1")
        try FileSystem.replace(folder + "/" + RootKeys.credential, with: Array(repeating: 9, count: 32), mode: 0o600)
        let service = make(.auto, credentials: folder)
        #expect(ProtectionMessage(service).source == "credential")
        #expect(try RecordVault(service.distribution.ring).open(record, .callers, place: "1") == [7])
        try FileSystem.remove(keyFile)
        #expect(StatusMessage.Protection(make(.auto, credentials: folder)).state == "unlocked")
    }

    @Test("A missing key locks, and what arrives is sealed; the key that comes back unlocks")
    func missingKey() throws {
        _ = make(.file(keyFile))
        try FileSystem.move(keyFile, to: keyFile + ".away")
        let service = make(.auto)
        #expect(
            StatusMessage.Protection(service).state == "locked" && StatusMessage.Protection(service).unusable == true)
        #expect(StatusMessage.Protection(service).why?.contains("root.key' doesn't exist") == true)
        #expect(available(service) == [] && service.distribution.ring.header(of: .payloads).form == .sealed)
        let record = try RecordVault(service.distribution.ring).seal([1], .payloads, place: "1")
        #expect(unlock(service)?.message.contains("doesn't exist") == true)
        try FileSystem.move(keyFile + ".away", to: keyFile)
        #expect(unlock(service) == nil && StatusMessage.Protection(service).unusable == nil)
        #expect(try RecordVault(service.distribution.ring).open(record, .payloads, place: "1") == [1])
    }

    @Test("A wrong key file and one that others may read are refused, and said")
    func wrongKey() throws {
        _ = make(.file(keyFile))
        try FileSystem.replace(keyFile, with: Array(repeating: 1, count: 32), mode: 0o600)
        #expect(StatusMessage.Protection(make(.auto)).why?.contains("another key") == true)
        try FileSystem.replace(keyFile, with: Array(repeating: 1, count: 32), mode: 0o644)
        #expect(StatusMessage.Protection(make(.auto)).why?.contains("chmod 600") == true)
    }

    @Test("With a damaged file, records are protected by keys that only this process has")
    func damaged() throws {
        _ = make(.file(keyFile))
        let good = try FileSystem.read(file, maximumSize: ProtectionFile.maximumBytes)
        for path in [file, copy] { try FileSystem.replace(path, with: Array("{".utf8), mode: 0o600) }
        let service = make(.file(keyFile))
        #expect(
            StatusMessage.Protection(service).unusable == true
                && StatusMessage.Protection(service).why?.contains("is damaged") == true)
        #expect(service.distribution.ring.header(of: .payloads).form == .encrypted)
        #expect(ProtectionMessage(service).classes.allSatisfy { $0.generation == nil })
        // Nothing replaces a file that may be restored.
        #expect(try FileSystem.read(file, maximumSize: 10) == Array("{".utf8))
        let record = try RecordVault(service.distribution.ring).seal([1], .payloads, place: "1")
        #expect(try RecordVault(service.distribution.ring).open(record, .payloads, place: "1") == [1])
        #expect(throws: RecordFailure.deleted(.completeUntilFirstUserAuthentication)) {
            try RecordVault(make(.file(keyFile)).distribution.ring).open(record, .payloads, place: "1")
        }
        try FileSystem.replace(file, with: good, mode: 0o600)
        #expect(
            unlock(service) == nil && StatusMessage.Protection(service).state == "unlocked"
                && StatusMessage.Protection(service).unusable == nil)
    }

    @Test("A file of keys that is damaged or gone is replaced by its second copy", arguments: [true, false])
    func copies(isGone: Bool) throws {
        _ = make(.file(keyFile))
        let good = try FileSystem.read(file, maximumSize: ProtectionFile.maximumBytes)
        for path in [file, copy] {
            if isGone {
                try FileSystem.remove(path)
            } else {
                try FileSystem.replace(path, with: Array(good.dropLast()), mode: 0o600)
            }
            let service = make(.file(keyFile))
            #expect(StatusMessage.Protection(service).state == "unlocked" && available(service) == Self.all)
            for path in [file, copy] {
                #expect(try FileSystem.read(path, maximumSize: ProtectionFile.maximumBytes) == good)
            }
        }
    }

    @Test("Switched off, what was protected can be read, and new records are written as they are")
    func switchedOff() throws {
        let former = make(.file(keyFile))
        let record = try RecordVault(former.distribution.ring).seal([1], .payloads, place: "1")
        let service = make(.off)
        let ring = service.distribution.ring
        #expect(
            service.isOff && StatusMessage.Protection(service).unusable == nil
                && ring.header(of: .payloads).form == .plain)
        #expect(try RecordVault(ring).open(record, .payloads, place: "1") == [1])
        try FileSystem.remove(keyFile)
        let other = make(.off)
        #expect(
            StatusMessage.Protection(other).unusable == true
                && StatusMessage.Protection(other).why?.contains("can't be read") == true)
    }

    // MARK: - The lock

    @Test("A lock by command is told, has its time, and outlives the daemon; the first unlocking of the boot is kept")
    func lockAndRestart() throws {
        let service = make(.file(keyFile))
        try service.lockByCommand()
        guard case .willBecomeUnavailable = published.last else {
            Issue.record("\(published)")
            return
        }
        #expect(StatusMessage.Protection(service).state == "unlocked" && available(service) == Self.all)
        waitUntilLocked(service)
        #expect(published.last == .unavailable && available(service) == [.completeUntilFirstUserAuthentication])
        #expect(StatusMessage.Protection(service).why?.contains("a command locked it") == true)

        let reborn = make(.file(keyFile))
        #expect(StatusMessage.Protection(reborn).state == "locked")
        #expect(available(reborn) == [.completeUntilFirstUserAuthentication])
        #expect(unlock(reborn) == nil && published.last == .available && available(reborn) == Self.all)
        #expect(StatusMessage.Protection(make(.file(keyFile))).state == "unlocked")
    }

    @Test("Unlocking within the grace period drops nothing, and is told")
    func grace() throws {
        let service = make(.file(keyFile), gracePeriod: .seconds(60))
        try service.lockByCommand()
        #expect(unlock(service) == nil && published.last == .available && published.count == 2)
        #expect(StatusMessage.Protection(service).state == "unlocked")
    }

    @Test("A machine that slept over the grace period gives no key to an unlocking that comes before its timer")
    func asleep() throws {
        let service = make(.passphrase, gracePeriod: .milliseconds(1))
        let key = try RootKey.random()
        try service.setPassphrase(Self.passphrase, key)
        for isScreen in [true, false] {
            try service.lockByCommand()
            let end = BootClock.now().advanced(by: .milliseconds(1))
            // The loop doesn't turn, as in a machine that is asleep.
            while BootClock.now() <= end {}
            if isScreen { service.lock.onUnlock() } else { #expect(unlock(service)?.code == .locked) }
            #expect(StatusMessage.Protection(service).state == "locked")
            #expect(available(service) == [.completeUntilFirstUserAuthentication])
            #expect(unlock(service, key) == nil && available(service) == Self.all)
        }
    }

    @Test("After a start of the machine, what a passphrase opens is locked as a whole")
    func otherBoot() throws {
        let service = make(.passphrase)
        try service.setPassphrase(Self.passphrase, try RootKey.random())
        #expect(available(service) == Self.all)
        let reborn = make(.passphrase, boot: "boot 2")
        #expect(StatusMessage.Protection(reborn).state == "locked" && available(reborn) == [])
        #expect(published == [.unavailable])
    }

    // MARK: - The passphrase

    @Test("A passphrase is set, opens the keys, and can be changed; a wrong one opens nothing")
    func passphrases() throws {
        let (first, second) = (try RootKey.random(), try RootKey.random())
        let service = make(.passphrase)
        #expect(service.isOff && StatusMessage.Protection(service).why?.contains("no passphrase is set yet") == true)
        try service.setPassphrase(Self.passphrase, first)
        let record = try RecordVault(service.distribution.ring).seal([1], .payloads, place: "1")
        #expect(StatusMessage.Protection(service).state == "unlocked" && ProtectionMessage(service).passphrase?.n == 2)

        let reborn = make(.passphrase)
        #expect(unlock(reborn)?.code == .locked && unlock(reborn, second)?.code == .badCredential)
        #expect(error { () throws(RingwakeError) in try reborn.setPassphrase(Self.passphrase, second) } == .locked)
        #expect(unlock(reborn, first) == nil)
        try reborn.setPassphrase(Self.passphrase, second)
        let third = make(.passphrase)
        #expect(unlock(third, first)?.code == .badCredential && unlock(third, second) == nil)
        #expect(try RecordVault(third.distribution.ring).open(record, .payloads, place: "1") == [1])
    }

    @Test("After five wrong keys the right one has to wait too")
    func limit() throws {
        let right = try RootKey.random()
        try make(.passphrase).setPassphrase(Self.passphrase, right)
        let service = make(.passphrase)
        let wrong = try RootKey.random()
        for _ in 0..<5 { #expect(unlock(service, wrong)?.code == .badCredential) }
        #expect(unlock(service, right)?.code == .limitReached && StatusMessage.Protection(service).state == "locked")
    }

    @Test("A passphrase is refused where the configuration names something else")
    func refusedPassphrase() throws {
        let service = make(.file(keyFile))
        let key = try RootKey.random()
        #expect(error { () throws(RingwakeError) in try service.setPassphrase(Self.passphrase, key) } == .conflict)
        #expect(unlock(service, key)?.code == .conflict)
    }

    @Test("Keys under a passphrase move to the key file that the configuration names, once they are unlocked")
    func migration() throws {
        let key = try RootKey.random()
        try make(.passphrase).setPassphrase(Self.passphrase, key)
        let service = make(.file(keyFile))
        #expect(
            StatusMessage.Protection(service).state == "locked"
                && StatusMessage.Protection(service).why?.contains("what 'root_key' names") == true)
        #expect(unlock(service, key) == nil && ProtectionMessage(service).source == "keyFile")
        #expect(StatusMessage.Protection(make(.file(keyFile))).state == "unlocked")
    }

    // MARK: - Keys

    @Test("New keys come beside the former ones, which stay until nothing is left under them")
    func rekeying() throws {
        let service = make(.file(keyFile))
        let record = try RecordVault(service.distribution.ring).seal([1], .payloads, place: "1")
        let kind = ProtectionClass.completeUntilFirstUserAuthentication
        try service.rekey(ProtectionClass.withKeys)
        #expect(ProtectionMessage(service).classes.allSatisfy { $0.generation == 2 && $0.available })
        let ring = service.distribution.ring
        #expect(ring.keys[kind]?.count == 2)
        #expect(try RecordVault(ring).open(record, .payloads, place: "1") == [1])
        // That nothing is left under older keys than the first says nothing of the first.
        try service.finishRekeying(of: kind, before: 1)
        #expect(service.distribution.ring.keys[kind]?.count == 2)
        try service.finishRekeying(of: kind, before: 2)
        #expect(service.distribution.ring.keys[kind]?.count == 1)
        #expect(make(.file(keyFile)).distribution.ring.keys[kind]?.map(\.generation) == [2])
        #expect(throws: RecordFailure.deleted(kind)) {
            try RecordVault(service.distribution.ring).open(record, .payloads, place: "1")
        }
    }

    @Test("Deleted keys are gone at once and after a restart, and only those of the class")
    func deletion() throws {
        let service = make(.file(keyFile)) { $0.classes.callers = .complete }
        let vault = RecordVault(service.distribution.ring)
        let (payload, caller) = (
            try vault.seal([1], .payloads, place: "1"), try vault.seal([2], .callers, place: "1")
        )
        try service.delete(.complete)
        for ring in [service.distribution.ring, make(.file(keyFile)).distribution.ring] {
            #expect(throws: RecordFailure.deleted(.complete)) {
                try RecordVault(ring).open(caller, .callers, place: "1")
            }
            #expect(try RecordVault(ring).open(payload, .payloads, place: "1") == [1])
        }
    }

    @Test("Locked keys can be neither renewed nor deleted")
    func lockedKeys() throws {
        try make(.passphrase).setPassphrase(Self.passphrase, try RootKey.random())
        let service = make(.passphrase)
        #expect(error { () throws(RingwakeError) in try service.rekey([.complete]) } == .locked)
        #expect(error { () throws(RingwakeError) in try service.delete(.complete) } == .locked)
    }
}

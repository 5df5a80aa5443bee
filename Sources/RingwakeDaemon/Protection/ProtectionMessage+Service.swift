internal import ControlProtocol
internal import Cryptography
internal import DaemonConfiguration
internal import DataProtection
internal import DeviceServices
internal import RingwakeCore

extension StatusMessage.Protection {
    init(_ service: ProtectionService) {
        let missing = service.missingKeys().why
        let (state, why): (String, String?) =
            switch service.machine.state {
            case nil: ("off", "the daemon is starting")
            case .off(let reason): ("off", reason)
            case .locked(let locked):
                (
                    "locked",
                    service.isUnusable
                        ? service.note ?? locked.problem : locked.problem ?? Self.reason(ofLock: service)
                )
            case .locking, .unlocked: ("unlocked", service.note)
            }
        self.init(
            state: state, why: service.isUnusable ? why : missing ?? why,
            unusable: service.isUnusable || missing != nil ? true : nil,
            protectedDataAvailable: service.distribution.published.isAvailable)
    }

    private static func reason(ofLock service: ProtectionService) -> String {
        let lock = service.lock
        if service.file?.source.needsPerson == true {
            let hint = "the passphrase is needed: run 'ringwake protection unlock'"
            return service.note.map { "\(hint); \($0)" } ?? hint
        }
        if lock.record.lockedByCommand { return "a command locked it; 'ringwake protection unlock' unlocks it" }
        return lock.monitor?.state == .asking ? "logind has not answered yet" : "the screen is locked"
    }
}

extension ProtectionMessage {
    init(_ service: ProtectionService) {
        let (status, lock, source) = (StatusMessage.Protection(service), service.lock, service.file?.source)
        self.init(
            state: status.state, why: status.why, unusable: status.unusable, source: source?.kind.apiName,
            protectedDataAvailable: status.protectedDataAvailable,
            lock: (lock.monitor == nil ? ProtectionSettings.LockCause.command : .session).rawValue,
            lockedMs: service.lockedAt.map { max(0, $0.duration(to: service.now).milliseconds) })
        switch source {
        case .keyFile(let path): keyFile = path
        case .passphrase(let salt, let cost):
            passphrase = .init(salt: Base64URL.encode(salt), n: cost.n, r: cost.r, p: cost.p)
        case .credential, .tpm, nil: break
        }
        guard !service.isOff else { return }
        switch lock.monitor?.state {
        case nil: break
        case .locked: session = "locked"
        case .unlocked: session = "unlocked"
        case .asking: (session, sessionWhy) = ("unknown", "logind has not answered yet")
        case .unknown(let why): (session, sessionWhy) = ("unknown", why)
        }
        let (ring, missing) = (service.distribution.ring, service.missingKeys().generations)
        classes = ProtectionClass.withKeys.map { protection in
            ProtectionMessage.Class(
                name: protection.rawValue,
                available: service.distribution.readable.contains(protection) && missing[protection] == nil,
                // Without a file the keys are of this run only.
                generation: source == nil ? nil : ring.keys[protection]?.last?.generation,
                kinds: ProtectedKind.allCases.filter { ring.classes[$0] == protection }.map(\.rawValue),
                rekeying: service.progress(protection).map { .init(done: $0.done, total: $0.total) })
        }
    }
}

extension RootKeySource.Kind {
    /// The name in the control API.
    fileprivate var apiName: String {
        switch self {
        case .credential: "credential"
        case .keyFile: "keyFile"
        case .passphrase: "passphrase"
        case .tpm: "tpm"
        }
    }
}

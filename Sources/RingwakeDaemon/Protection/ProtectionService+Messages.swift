internal import ControlProtocol
internal import Cryptography
internal import DaemonConfiguration
internal import DataProtection
internal import DeviceServices
internal import RingwakeCore

// What the control API shows of the protection.
extension ProtectionService {
    func status() -> StatusMessage.Protection {
        let (state, why): (String, String?) =
            switch machine.state {
            case nil: ("off", "the daemon is starting")
            case .off(let reason): ("off", reason)
            case .locked(let locked): ("locked", isUnusable ? note ?? locked.problem : locked.problem ?? lockReason)
            case .locking, .unlocked: ("unlocked", note)
            }
        return StatusMessage.Protection(
            state: state, why: why, unusable: isUnusable ? true : nil,
            protectedDataAvailable: machine.protectedDataAvailable)
    }

    private var lockReason: String {
        if file?.source.needsPerson == true {
            let hint = "the passphrase is needed: run 'ringwake protection unlock'"
            return note.map { "\(hint); \($0)" } ?? hint
        }
        if lock.record.lockedByCommand { return "a command locked it; 'ringwake protection unlock' unlocks it" }
        return lock.monitor?.state == .asking ? "logind has not answered yet" : "the screen is locked"
    }

    func message() -> ProtectionMessage {
        let status = status()
        var message = ProtectionMessage(
            state: status.state, why: status.why, unusable: status.unusable, source: file?.source.kind.apiName,
            protectedDataAvailable: status.protectedDataAvailable,
            lock: (lock.monitor == nil ? ProtectionSettings.LockCause.command : .session).rawValue,
            lockedMs: lockedAt.map { max(0, $0.duration(to: now).milliseconds) })
        switch file?.source {
        case .keyFile(let path): message.keyFile = path
        case .passphrase(let salt, let cost):
            message.passphrase = .init(salt: Base64URL.encode(salt), n: cost.n, r: cost.r, p: cost.p)
        case .credential, .tpm, nil: break
        }
        guard !isOff else { return message }
        switch lock.monitor?.state {
        case nil: break
        case .locked: message.session = "locked"
        case .unlocked: message.session = "unlocked"
        case .asking: (message.session, message.sessionWhy) = ("unknown", "logind has not answered yet")
        case .unknown(let why): (message.session, message.sessionWhy) = ("unknown", why)
        }
        message.classes = ProtectionClass.withKeys.map { protection in
            let ring = distribution.ring
            return ProtectionMessage.Class(
                name: protection.rawValue, available: ring.isAvailable(protection),
                // Without a file the keys are of this run only.
                generation: file == nil ? nil : ring.keys[protection]?.last?.generation,
                kinds: ProtectedKind.allCases.filter { ring.classes[$0] == protection }.map(\.rawValue),
                rekeying: progress(protection).map { .init(done: $0.done, total: $0.total) })
        }
        return message
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

extension ProtectionStateMachine {
    /// What apps know of it.
    var dataState: ProtectedDataState {
        switch state {
        case nil, .off, .unlocked: .available
        case .locking(let dropAt): .willBecomeUnavailable(at: dropAt)
        case .locked: .unavailable
        }
    }
}

internal import DBus
internal import DaemonConfiguration
internal import DeviceServices
internal import Glibc
internal import Logging
internal import RingwakeCore

/// What locks the device: the screen, as logind reports it, and commands. It remembers over restarts of the daemon what the
/// present boot of the machine has seen.
final class DeviceLock {
    /// Called when the screen is locked.
    var onLock: () -> Void = {}
    /// Called when the screen is unlocked, or when nobody says when it is.
    var onUnlock: () -> Void = {}

    /// Nil if only commands lock.
    let monitor: SessionLockMonitor?
    private(set) var record: LockRecord
    private let directory: String
    private let logger: Logger
    private var hasReport = false
    /// Whether the screen was locked when logind last said so.
    private var isScreenLocked = false

    /// - Parameters:
    ///   - directory: the runtime directory.
    ///   - bootID: names this boot of the machine.
    init(
        _ cause: ProtectionSettings.LockCause?, isSystem: Bool, directory: String, bootID: String,
        systemBus: DBusService, logger: Logger
    ) {
        self.directory = directory
        self.logger = logger
        record = LockRecord.read(in: directory, boot: bootID)
        let isSessions = (cause ?? (isSystem ? .command : .session)) == .session
        monitor =
            isSessions
            ? SessionLockMonitor(
                logger: logger, systemBus: systemBus, scope: isSystem ? .seat("seat0") : .user(getuid()))
            : nil
    }

    /// Begins to follow the screen. Idempotent.
    func begin() {
        monitor?.onChange = { [weak self] in self?.changed(to: $0) }
        monitor?.start()
    }

    func close() { monitor?.close() }

    /// Whether the device counts as locked. Until logind has answered it does.
    var isLocked: Bool {
        switch monitor?.state {
        case .asking, .locked: true
        case .unlocked, .unknown, nil: record.lockedByCommand
        }
    }

    private func changed(to state: SessionLockMonitor.State) {
        guard state != .asking else { return }
        let isFirst = !hasReport
        hasReport = true
        switch state {
        case .asking: break
        case .locked:
            isScreenLocked = true
            onLock()
        // Nobody says when the screen is locked: only a command locks. What is locked stays so.
        case .unknown: if isFirst, !record.lockedByCommand { onUnlock() }
        // A lock by command ends when the screen is unlocked, and not when logind is there, again or late, and says that it
        // isn't locked.
        case .unlocked:
            if isScreenLocked || !record.lockedByCommand { onUnlock() }
            isScreenLocked = false
        }
    }

    func set(lockedByCommand: Bool) {
        guard record.lockedByCommand != lockedByCommand else { return }
        record.lockedByCommand = lockedByCommand
        write()
    }

    func rememberUnlock() {
        guard !record.unlocked else { return }
        record.unlocked = true
        write()
    }

    private func write() {
        do throws(RingwakeError) {
            try record.write(in: directory)
        } catch {
            logger.warning("the lock can't be remembered", metadata: ["why": "\(error.message)"])
        }
    }
}

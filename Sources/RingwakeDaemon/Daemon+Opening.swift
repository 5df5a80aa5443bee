internal import DaemonConfiguration
internal import DataProtection
internal import FileSystem
internal import Glibc
internal import Logging
internal import PushJournal
internal import RingwakeCore
internal import RunLoop
internal import ServiceManager

// What the daemon needs before it starts: its folders, the lock on its state, its clocks.
extension Daemon {
    /// Number of attempts to take the lock, and the microseconds between them: two seconds in all.
    private static let lockAttempts = 100
    private static let lockPause: UInt32 = 20_000
    /// How long a merge may take from one report to the next.
    private static let mergePause = Duration.seconds(60)

    static func makeDirectories(_ configuration: Configuration) throws(RingwakeError) {
        for (path, mode, key) in [
            (configuration.stateDirectory, UInt32(0o700), "state_directory"),
            (configuration.runtimeDirectory, UInt32(0o755), "runtime_directory"),
        ] {
            let isOpenToOthers: Bool
            do {
                try FileSystem.createDirectory(path, mode: mode)
                isOpenToOthers = try FileSystem.isWritableByOthers(directory: path)
            } catch {
                throw RingwakeError(
                    .system, "\(error.description); ringwaked needs it: create it, or set \(key) to another")
            }
            // They could replace the control socket and receive every wake secret.
            guard !isOpenToOthers else {
                throw RingwakeError(
                    .system, "other users may write to \(path); \(advice(on: path)), or set \(key) to another")
            }
        }
    }

    /// Root must not take a folder from the user that the daemon runs as otherwise.
    private static func advice(on path: String) -> String {
        var status = stat()
        guard geteuid() == 0, stat(path, &status) == 0, let owner = getpwuid(status.st_uid), status.st_uid != 0 else {
            return "chown it to this user and run chmod go-w \(path)"
        }
        let name = String(cString: owner.pointee.pw_name)
        return "it is \(name)'s: run ringwaked as that user (the system's service does: systemctl start ringwaked)"
    }

    /// Locks the state directory. If a daemon was killed while it started a handler, the forked child holds the lock
    /// and the sockets until it executes the handler. So try for two seconds.
    static func lock(_ directory: String) throws(RingwakeError) -> FileLock {
        var attempts = 0
        while true {
            attempts += 1
            do {
                return try FileLock(path: directory + "/lock")
            } catch {
                guard error.errno == EWOULDBLOCK else {
                    throw RingwakeError(
                        .system, "\(error.description); the state directory has to be writable for this user")
                }
                guard attempts < lockAttempts else {
                    throw RingwakeError(
                        .inUse,
                        "another ringwaked uses the state directory \(directory); stop it, or set state_directory")
                }
            }
            // Blocking is fine: the loop isn't running yet.
            usleep(lockPause)
        }
    }

    /// Puts a restore in place that waits for it. One that can't be is given up, and the daemon runs as before.
    static func finishRestore(_ configuration: Configuration, _ logger: Logger) throws(RingwakeError) {
        let staged = StagedRestore(directory: configuration.stateDirectory)
        do throws(RingwakeError) {
            let report = {
                // A manager that can't be told may end the start, and the next one begins it again. To a service that has
                // executed itself again it is no start: there the watchdog counts.
                for notification in [ServiceNotification.starting(mergePause), .alive] { try? notification.send() }
            }
            guard
                let done = try staged.finish(
                    // The start writes what it adds again, with the keys that there are.
                    limits: configuration.journal, report: report, keys: { .off },
                    clocks: { () throws(RingwakeError) in try clocks() })
            else { return }
            if let records = done.records {
                let (added, skipped) = (records.added.values.reduce(0, +), records.skipped.values.reduce(0, +))
                logger.notice("a backup was merged", metadata: ["added": "\(added)", "left-out": "\(skipped)"])
            } else {
                logger.notice("a backup was restored", metadata: ["former-state": "\(done.aside ?? "none")"])
            }
        } catch {
            guard [.invalidRequest, .limitReached, .failed].contains(error.code) else { throw error }
            logger.error("a backup was not restored", metadata: ["why": "\(error.message)"])
        }
    }

    /// What protects stored data. It is made before the first thread: a TPM's libraries read the environment.
    static func makeProtection(
        _ configuration: Configuration, _ clocks: JournalClocks, runLoop: RunLoop, buses: Buses, logger: Logger
    ) -> ProtectionService {
        let lock = DeviceLock(
            configuration.protection.lock, isSystem: configuration.isSystem, directory: configuration.runtimeDirectory,
            bootID: clocks.bootID, systemBus: buses.system, logger: logger)
        return ProtectionService(
            configuration.protection, directory: configuration.stateDirectory,
            credentialsDirectory: processEnvironment()["CREDENTIALS_DIRECTORY"], lock: lock, runLoop: runLoop,
            logger: logger)
    }

    static func clocks() throws(RingwakeError) -> JournalClocks {
        let path = "/proc/sys/kernel/random/boot_id"
        do {
            let text = String(decoding: try FileSystem.read(path, maximumSize: 64), as: UTF8.self)
            return JournalClocks(
                wall: { unixMilliseconds() }, boot: { BootInstant(nanoseconds: BootClock.now().nanoseconds) },
                bootID: text.filter { !$0.isWhitespace }, trust: { wallClockTrust() })
        } catch {
            throw RingwakeError(
                .system, "\(error.description); ringwaked tells one boot from another by it: mount /proc")
        }
    }
}

internal import Logging
internal import RingwakeCore
internal import RunLoop
internal import ServiceManager

/// Tells systemd what the daemon does (`Type=notify`), and that it is alive if systemd wants to know (`WatchdogSec=`).
final class ServiceReporter {
    private let runLoop: RunLoop
    private let logger: Logger
    /// Half the time within which systemd expects a sign of life; nil if it expects none.
    private let interval: Duration?

    init(runLoop: RunLoop, logger: Logger) {
        self.runLoop = runLoop
        self.logger = logger
        interval = ServiceNotification.watchdogTimeout().map { $0 / 2 }
    }

    /// The daemon can accept pushes.
    func ready() {
        send(.ready)
        feedWatchdog()
    }

    func reloading() {
        send(.reloading)
    }

    /// The reload has ended. After a failure the daemon is as ready as before; `systemctl status` shows the reason.
    func reloaded(_ error: RingwakeError?) {
        send(.status(error.map { "The last reload failed: \($0.message)" } ?? ""))
        send(.ready)
    }

    func stopping() {
        send(.stopping)
    }

    /// A timer that may fire together with others, and that doesn't wake a suspended machine.
    private func feedWatchdog() {
        guard let interval else { return }
        send(.alive)
        runLoop.schedule(
            at: runLoop.now.advanced(by: interval), tolerance: interval / 2, wakingFromSuspend: false
        ) { [weak self] in self?.feedWatchdog() }
    }

    private func send(_ notification: ServiceNotification) {
        do throws(NotificationError) {
            try notification.send()
        } catch {
            logger.warning(
                "systemd cannot be notified; it may take the daemon for one that does not start or has stopped",
                metadata: ["notification": "\(notification)", "error": "\(error.reason)"])
        }
    }
}

package import DBus
internal import Glibc
package import Logging
package import RingwakeCore
package import RunLoop

/// Alerts a person to ringing calls: by ringtone, vibration and notifications.
///
///     let alerts = CallAlerts(
///         runLoop: loop, logger: logger, sessionBus: session, environment: environment,
///         runtimeDirectory: "/run/ringwake")
///     alerts.settings = settings
///     alerts.onAnswer = { key in answer(key) }
///     alerts.show(calls)      // after each event: all calls that ring now
///
/// ``show(_:)`` gets all ringing calls, never a change, so the alerts stop for whatever reason a call stops ringing.
/// The parts are independent: without a session bus, a notification server or a motor, the rest works.
package final class CallAlerts {
    /// How it rings. A change applies immediately, also to calls that ring.
    package var settings = RingSettings() {
        didSet {
            guard settings != oldValue else { return }
            // What failed was another program.
            failures = [:]
            apply()
        }
    }
    /// The user pressed Answer.
    package var onAnswer: ((CallKey) -> Void)?
    /// The user pressed Decline, or Dismiss.
    package var onDecline: ((CallKey) -> Void)?
    /// Called when a part fails, once until that part works again. It is also logged.
    package var onFailure: ((AlertFailure) -> Void)?
    /// The parts whose last attempt failed, and why.
    package private(set) var failures: [AlertFailure.Part: String] = [:]
    /// The calls that are shown.
    package private(set) var calls: [AlertCall] = []

    private let logger: Logger
    private let record: AlertRecord
    private let ringer: Ringer
    private let notifications: CallNotifications

    /// First ends the alerts that a killed daemon left.
    ///
    /// - Parameters:
    ///   - environment: the ring commands inherit it, except the variables of the daemon (`LISTEN_*`,
    ///     `NOTIFY_SOCKET`, `WATCHDOG_*`, `MAINPID`, `INVOCATION_ID`, `JOURNAL_STREAM`).
    ///   - runtimeDirectory: the directory of the record of current alerts (`ring.pid`); a tmpfs that exists already.
    ///   - descriptorLimit: maximum descriptors of a command, if the daemon raised its own limit: programs that use
    ///     select(2) rely on a low one. Nil: as many as the daemon.
    ///   - period: minimum time from one start of a ring command to the next.
    package init(
        runLoop: RunLoop, logger: Logger, sessionBus: DBusService, environment: [String: String],
        runtimeDirectory: String, descriptorLimit: (soft: UInt64, hard: UInt64)? = nil,
        period: Duration = .seconds(1)
    ) {
        self.logger = logger
        record = AlertRecord(directory: runtimeDirectory, logger: logger)
        let surroundings = AlertProcess.Surroundings(
            environment: inheritable(environment).map { "\($0)=\($1)" }.sorted(), descriptorLimit: descriptorLimit)
        ringer = Ringer(runLoop: runLoop, surroundings: surroundings, record: record, period: period)
        notifications = CallNotifications(bus: sessionBus, logger: logger)
        let leftover = record.endLeftovers()
        if !leftover.isEmpty { notifications.withdraw(leftover) }
        ringer.onFailure = { [weak self] in self?.failed($0) }
        ringer.onSuccess = { [weak self] in self?.failures[$0] = nil }
        notifications.onResult = { [weak self] reason in
            guard let reason else {
                self?.failures[.notification] = nil
                return
            }
            self?.failed(AlertFailure(.notification, reason))
        }
        notifications.onShown = { [record] in record.shows($0) }
        notifications.onAction = { [weak self] key, isAnswer in
            isAnswer ? self?.onAnswer?(key) : self?.onDecline?(key)
        }
    }

    /// Rings for these calls and shows them, and no others. An empty list stops everything.
    package func show(_ calls: [AlertCall]) {
        guard calls != self.calls else { return }
        self.calls = calls
        apply()
    }

    /// Shows that a call was missed, if notifications are on.
    /// - Parameter time: when it arrived, on the wall clock: seconds since 1970.
    package func missed(_ call: AlertCall, at time: Int64) {
        guard settings.notifications else { return }
        notifications.showMissed(call, at: time, now: Int64(Glibc.time(nil)))
    }

    /// Stops everything.
    package func close() {
        show([])
    }

    private func apply() {
        ringer.show(calls, settings: settings)
        notifications.show(settings.notifications ? calls : [], isSilent: settings.isAudible)
    }

    private func failed(_ failure: AlertFailure) {
        guard failures.updateValue(failure.reason, forKey: failure.part) != failure.reason else { return }
        // Most machines have no desktop, and don't need one.
        logger.log(
            level: failure.part == .notification ? .info : .warning, "a call could not be announced in full",
            metadata: ["part": "\(failure.part.rawValue)", "reason": "\(failure.reason)"])
        onFailure?(failure)
    }
}

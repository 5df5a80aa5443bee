package import DBus
package import Logging
package import RunLoop

/// Delays the machine's sleep for a moment, in which a check is made, and reports when it has resumed.
///
/// It holds a delay lock of logind, which logind respects for `InhibitDelayMaxSec=` (5 s). Without logind it does nothing.
///
/// See org.freedesktop.login1(5), "Inhibit()" and "PrepareForSleep()".
package final class SleepDelay {
    /// Called when the machine is about to sleep. The machine sleeps when the function was called, or after
    /// ``longest``. A call that comes later changes nothing.
    package var onSleep: (@escaping () -> Void) -> Void = { $0() }
    /// Called after each sleep.
    package var onWake: () -> Void = {}

    /// How long a check may take: a little less than logind waits.
    package nonisolated static let longest = Duration.milliseconds(4500)

    private static let login = "org.freedesktop.login1"
    private static let loginPath = "/org/freedesktop/login1"
    private static let timeout: Duration = .seconds(60)

    private let runLoop: RunLoop
    private let logger: Logger
    private let bus: DBusService
    private var inhibitor: DBusFileDescriptor?
    private var question: DBusCall?
    private var subscription: DBusSubscription?
    private var watch: DBusSubscription?
    private var timer: Timer?

    package init(runLoop: RunLoop, logger: Logger, systemBus: DBusService) {
        self.runLoop = runLoop
        self.logger = logger
        bus = systemBus
    }

    isolated deinit {
        close()
    }

    /// Whether sleeps are delayed.
    package var isNeeded = false {
        didSet {
            guard isNeeded != oldValue else { return }
            isNeeded ? begin() : close()
        }
    }

    /// Whether the lock is held now.
    package var isHeld: Bool { inhibitor != nil }

    private func begin() {
        subscription = bus.subscribe(
            DBusMatch(
                sender: Self.login, path: Self.loginPath, interface: "\(Self.login).Manager",
                member: "PrepareForSleep")
        ) { [weak self] signal in
            switch signal.arguments.first?.flag {
            case true: self?.willSleep()
            case false: self?.hasWoken()
            default: break
            }
        }
        // logind may come later, or again: its locks end with it.
        watch = bus.watchName(Self.login) { [weak self] owner in
            self?.release()
            if owner != nil { self?.hold() }
        }
        hold()
    }

    private func close() {
        subscription?.cancel()
        subscription = nil
        watch?.cancel()
        watch = nil
        release()
    }

    private func hold() {
        guard isNeeded, inhibitor == nil, question == nil else { return }
        question = bus.call(
            destination: Self.login, path: Self.loginPath, interface: "\(Self.login).Manager", member: "Inhibit",
            arguments: [
                .string("sleep"), .string("Ringwake"), .string("Checks the link to the gateway"), .string("delay"),
            ], timeout: Self.timeout
        ) { [weak self] result in
            guard let self else { return }
            question = nil
            switch result {
            case .success(let values):
                inhibitor = values.first?.descriptor
            case .failure(let error) where error.name == DBusError.noReply:
                // It may be slow while the machine starts, and no event says when it isn't.
                hold()
            case .failure(let error):
                logger.debug("sleep is not delayed", metadata: ["why": "\(error.message)"])
            }
        }
    }

    private func release() {
        question?.cancel()
        question = nil
        if let timer { runLoop.cancel(timer) }
        timer = nil
        inhibitor?.close()
        inhibitor = nil
    }

    private func willSleep() {
        guard let held = inhibitor, timer == nil else { return }
        timer = runLoop.schedule(
            at: runLoop.now.advanced(by: Self.longest), tolerance: .milliseconds(200)
        ) { [weak self] in
            guard let self else { return }
            timer = nil
            logger.info("the machine sleeps before the link is checked")
            release()
        }
        onSleep { [weak self] in
            // After the sleep another lock is held.
            if let self, inhibitor === held { release() }
        }
    }

    private func hasWoken() {
        release()
        hold()
        onWake()
    }
}

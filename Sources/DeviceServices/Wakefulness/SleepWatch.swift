package import DBus

/// Tells when the machine has woken from sleep: devices may have been attached or taken away meanwhile.
///
/// It follows a signal of logind's and starts nothing: without logind nothing is told.
///
/// See org.freedesktop.login1(5), "PrepareForSleep()".
package final class SleepWatch {
    /// Called after each sleep.
    package var onWake: (() -> Void)?
    private let bus: DBusService
    private var subscription: DBusSubscription?

    package init(systemBus: DBusService) {
        bus = systemBus
    }

    isolated deinit {
        subscription?.cancel()
    }

    /// Whether it watches: while somebody has to know, and no longer.
    package var isNeeded = false {
        didSet {
            guard isNeeded != oldValue else { return }
            subscription?.cancel()
            subscription = isNeeded ? subscribe() : nil
        }
    }

    private func subscribe() -> DBusSubscription {
        bus.subscribe(
            DBusMatch(
                sender: "org.freedesktop.login1", path: "/org/freedesktop/login1",
                interface: "org.freedesktop.login1.Manager", member: "PrepareForSleep")
        ) { [weak self] signal in
            // True before the sleep, false after it.
            if signal.arguments.first?.flag == false { self?.onWake?() }
        }
    }
}

package import DBus

/// Reports when the machine has resumed from sleep: devices may have been attached or removed meanwhile.
///
/// It follows a signal of logind and starts nothing: without logind it reports nothing.
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

    /// Whether it watches. Set it only while the reports are needed.
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

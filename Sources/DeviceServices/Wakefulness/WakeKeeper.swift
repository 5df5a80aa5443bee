package import DBus
package import Logging
package import RunLoop

/// Keeps the machine from falling asleep while a call needs it.
///
///     let keeper = WakeKeeper(runLoop: loop, logger: logger, systemBus: system, mode: .auto)
///     keeper.isNeeded = machine.needsAwake(rule)        // after each event
///
/// Uses logind's inhibitor lock, held as a descriptor; without logind, a wake lock of the kernel. Both end as soon as
/// they are no longer needed, and with this process or soon after it.
///
/// See org.freedesktop.login1(5), "Inhibit()", and ``KernelWakeLock``.
package final class WakeKeeper {
    /// The mechanisms that may be used.
    package nonisolated enum Mode: String, Hashable, Sendable, CaseIterable {
        /// logind, or the kernel if logind is absent or refuses.
        case auto
        case logind
        case kernel
        /// None: the machine never sleeps, or something else keeps it awake.
        case none
    }

    /// What keeps the machine awake.
    package nonisolated enum Holder: String, Hashable, Sendable {
        case logind
        case kernel
    }

    /// Whether the machine is kept awake, and by what.
    package nonisolated struct Status: Hashable, Sendable {
        /// Nil when it may sleep.
        package var holder: Holder?
        /// Why it can't be kept awake, or could not the last time, and what to do.
        package var why: String?

        package init(holder: Holder? = nil, why: String? = nil) {
            self.holder = holder
            self.why = why
        }
    }

    /// Whether the machine has to stay awake. Setting it takes or releases the lock.
    package var isNeeded = false {
        didSet { if isNeeded != oldValue { isNeeded ? hold() : letGo() } }
    }
    package var status: Status {
        Status(holder: inhibitor != nil ? .logind : isKernelHeld ? .kernel : nil, why: problem)
    }

    private static let login = "org.freedesktop.login1"
    private static let loginPath = "/org/freedesktop/login1"
    /// The action that polkit has to allow if the daemon isn't root.
    private static let action = "org.freedesktop.login1.inhibit-block-sleep"
    private static let denials: Set = [
        "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired",
    ]
    /// logind answers in milliseconds; the call rings meanwhile. Without an answer it is asked again, for longer: a call may
    /// last an hour.
    private static let timeout: Duration = .seconds(5)
    private static let longTimeout: Duration = .seconds(60)

    private let runLoop: RunLoop
    private let logger: Logger
    private let bus: DBusService
    private let mode: Mode
    private let lock: KernelWakeLock
    private let sleepWatch: SleepWatch
    /// The lock lasts as long as the descriptor is open.
    private var inhibitor: DBusFileDescriptor?
    private var question: DBusCall?
    private var watch: DBusSubscription?
    /// logind's unique name.
    private var owner: String?
    private var isKernelHeld = false
    private var renewal: Timer?
    private var problem: String?
    private var isReported = false

    /// First releases a lock that a killed daemon left.
    /// - Parameters:
    ///   - kernelDirectory: the directory of the kernel's `wake_lock`; for tests.
    ///   - kernelTimeout: how long the kernel's lock outlives a killed daemon that isn't started again. The lock is
    ///     renewed while it is needed.
    package init(
        runLoop: RunLoop, logger: Logger, systemBus: DBusService, kernelDirectory: String = "/sys/power",
        mode: Mode = .auto, kernelTimeout: Duration = .seconds(600)
    ) {
        self.runLoop = runLoop
        self.logger = logger
        bus = systemBus
        self.mode = mode
        sleepWatch = SleepWatch(systemBus: systemBus)
        lock = KernelWakeLock(directory: kernelDirectory, name: "ringwaked", timeout: kernelTimeout)
        if mode != .none, lock.isActive, lock.release() == nil {
            logger.notice("a wake lock that outlived the daemon was released")
        }
        // logind refuses while it puts the machine to sleep. A call of that moment still waits afterwards.
        sleepWatch.onWake = { [weak self] in
            guard let self, isNeeded, inhibitor == nil else { return }
            askLogin()
        }
    }

    isolated deinit {
        close()
    }

    /// Releases everything. The last call.
    package func close() {
        isNeeded = false
        letGo()
    }

    private func hold() {
        problem = nil
        switch mode {
        case .none: break
        case .kernel: takeKernelLock(after: nil)
        case .auto, .logind:
            watch = bus.watchName(Self.login) { [weak self] in self?.loginChanged(to: $0) }
            sleepWatch.isNeeded = true
            askLogin()
        }
    }

    private func letGo() {
        // A later reply is dropped, which closes its inhibitor.
        question?.cancel()
        question = nil
        watch?.cancel()
        watch = nil
        sleepWatch.isNeeded = false
        owner = nil
        inhibitor?.close()
        inhibitor = nil
        releaseKernelLock()
    }

    // MARK: - logind

    private func askLogin(timeout: Duration = WakeKeeper.timeout) {
        guard question == nil else { return }
        question = bus.call(
            destination: Self.login, path: Self.loginPath, interface: "\(Self.login).Manager", member: "Inhibit",
            arguments: [.string("sleep"), .string("Ringwake"), .string("A call"), .string("block")],
            timeout: timeout
        ) { [weak self] result in
            self?.loginAnswered(result)
        }
    }

    private func loginAnswered(_ result: Result<[DBusValue], DBusError>) {
        question = nil
        switch result {
        case .success(let values):
            guard let descriptor = values.first?.descriptor else {
                return loginRefused("logind's answer to Inhibit holds no descriptor")
            }
            // Close the old inhibitor only when the new one is held.
            let former = inhibitor
            inhibitor = descriptor
            former?.close()
            worked()
            releaseKernelLock()
        case .failure(let error):
            let isDenied = Self.denials.contains(error.name)
            loginRefused(
                "logind does not keep the machine awake: \(error)"
                    + (isDenied ? "; allow the daemon's user \(Self.action) in polkit" : ""))
            if error.name == DBusError.noReply, isNeeded { askLogin(timeout: Self.longTimeout) }
        }
    }

    private func loginRefused(_ reason: String) {
        // An inhibitor that is already held still counts: logind keeps inhibitors over its own restart.
        guard inhibitor == nil else { return }
        if mode == .auto {
            takeKernelLock(after: reason)
        } else {
            failed(reason)
        }
    }

    private func loginChanged(to new: String?) {
        let old = owner
        owner = new ?? old
        // logind was restarted, and may have lost the inhibitor; or it has only now appeared.
        guard let new, isNeeded, question == nil, old != new, old != nil || inhibitor == nil else { return }
        askLogin()
    }

    // MARK: - The kernel

    private func takeKernelLock(after reason: String?) {
        guard !isKernelHeld else { return }
        if let refusal = lock.take() {
            return failed(reason.map { "\($0); \(refusal)" } ?? refusal)
        }
        isKernelHeld = true
        worked()
        scheduleRenewal()
    }

    private func scheduleRenewal() {
        let next = runLoop.refreshNow().advanced(by: lock.renewal)
        renewal = runLoop.schedule(at: next, tolerance: lock.renewal / 4) { [weak self] in
            guard let self, self.isKernelHeld else { return }
            if let refusal = self.lock.take() { self.failed(refusal) }
            self.scheduleRenewal()
        }
    }

    private func releaseKernelLock() {
        guard isKernelHeld else { return }
        isKernelHeld = false
        if let renewal { runLoop.cancel(renewal) }
        renewal = nil
        if let refusal = lock.release() {
            failed(refusal, "the machine may stay awake without a call; release the kernel's wake lock by hand")
        }
    }

    // MARK: - Status

    private func worked() {
        problem = nil
        isReported = false
    }

    private func failed(
        _ reason: String,
        _ consequence: String =
            "the machine may fall asleep in a call; set awake.by to what this machine has, or to none"
    ) {
        problem = reason
        // Log it once, not at each call; `doctor` and the status always show it.
        guard !isReported else { return }
        isReported = true
        logger.warning("\(consequence)", metadata: ["reason": "\(reason)"])
    }
}

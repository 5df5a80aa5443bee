internal import DaemonConfiguration
internal import CallService
internal import ControlProtocol
internal import DBus
internal import DeviceServices
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// What the device does for calls: it rings where the app doesn't, keeps the machine awake, and reports cellular calls.
///
/// It takes no commands. After each change it reads the state of the calls, so alerts and the wake lock end however the
/// call ends.
final class CallDevice {
    let alerts: CallAlerts
    let keeper: WakeKeeper
    let cellular: CellularMonitor
    let telephony: Telephony
    private unowned let calls: CallDriver
    private let awakeRule: AwakeRule

    init(
        _ configuration: Configuration, calls: CallDriver, runLoop: RunLoop, buses: Buses,
        descriptorLimit: (soft: UInt64, hard: UInt64), logger: Logger
    ) {
        self.calls = calls
        alerts = CallAlerts(
            runLoop: runLoop, logger: logger, sessionBus: buses.session, environment: processEnvironment(),
            runtimeDirectory: configuration.runtimeDirectory, descriptorLimit: descriptorLimit)
        keeper = WakeKeeper(runLoop: runLoop, logger: logger, systemBus: buses.system, mode: configuration.awake.mode)
        awakeRule = configuration.awake.rule
        cellular = CellularMonitor(logger: logger, systemBus: buses.system)
        telephony = Telephony(cellular, calls: calls)
        alerts.settings = configuration.ring
        alerts.onAnswer = { [weak calls] key in calls?.submit(.answerRequested(key)) }
        alerts.onDecline = { [weak calls] key in calls?.submit(.declineRequested(key)) }
        cellular.onChange = { [weak calls] in calls?.submit(.cellularChanged(isActive: $0) as ServiceEvent) }
    }

    /// Applies the present state of the calls.
    func update() {
        let coordinator = calls.coordinator
        keeper.isNeeded = coordinator.needsAwake(awakeRule)
        let ringing = coordinator.ringingCalls.filter { $0.ringer == .daemon }
        let isWaiting = !ringing.isEmpty && coordinator.isInCall
        alerts.show(ringing.map { alert(for: $0, isWaiting: isWaiting) })
    }

    /// Shows that a call was missed, if the daemon rings for it. A restricted call does not count as missed.
    func missed(_ call: Call) {
        guard call.ringer == .daemon else { return }
        alerts.missed(alert(for: call, isWaiting: false), at: (call.receivedWallClock ?? unixMilliseconds()) / 1000)
    }

    private func alert(for call: Call, isWaiting: Bool) -> AlertCall {
        let update = call.update
        let title = update.callerName ?? update.identifiedAs.map { "Maybe: \($0)" } ?? update.caller ?? "Unknown caller"
        return AlertCall(
            key: call.key, app: call.key.app, title: title, detail: update.caller == title ? nil : update.caller,
            hasVideo: update.hasVideo ?? false, canAnswer: !calls.coordinator.isStruckOut(call.key.app),
            isWaiting: isWaiting, ringtone: calls.configuration.apps[call.key.app]?.ringtone)
    }

    func reconfigure(_ settings: RingSettings) {
        alerts.settings = settings
    }

    /// Ends every alert, and lets the machine sleep.
    func close() {
        alerts.close()
        keeper.close()
        cellular.close()
    }
}

internal import DaemonConfiguration
internal import CallService
internal import ControlProtocol
internal import DBus
internal import DeviceServices
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// What the device itself does for calls: it rings where the app does not, stays awake until a call is answered, and
/// tells of cellular calls.
///
/// It is given no commands: after each change it looks what rings and what waits, so that both end with the call on
/// whatever way that ends.
final class CallDevice {
    let alerts: CallAlerts
    let keeper: WakeKeeper
    let cellular: CellularMonitor
    private unowned let calls: CallDriver

    init(
        _ configuration: Configuration, calls: CallDriver, runLoop: RunLoop, buses: Buses,
        descriptorLimit: (soft: UInt64, hard: UInt64), logger: Logger
    ) {
        self.calls = calls
        alerts = CallAlerts(
            runLoop: runLoop, logger: logger, sessionBus: buses.session, environment: processEnvironment(),
            runtimeDirectory: configuration.runtimeDirectory, descriptorLimit: descriptorLimit)
        keeper = WakeKeeper(runLoop: runLoop, logger: logger, systemBus: buses.system, mode: configuration.awake)
        cellular = CellularMonitor(logger: logger, systemBus: buses.system)
        alerts.settings = configuration.ring
        alerts.onAnswer = { [weak calls] key in calls?.submit(.answerRequested(key)) }
        alerts.onDecline = { [weak calls] key in calls?.submit(.declineRequested(key)) }
        cellular.onChange = { [weak calls] in calls?.submit(.cellularChanged(isActive: $0) as ServiceEvent) }
    }

    /// Looks what has to be done now.
    func update() {
        let coordinator = calls.coordinator
        keeper.isNeeded = coordinator.isAnyCallUnanswered
        alerts.show(coordinator.ringingCalls.filter { $0.ringer == .daemon }.map { alert(for: $0) })
    }

    /// A call ended that nobody took or refused. Where the daemon rings, it says so too; what was kept out disturbs
    /// nobody afterwards either.
    func missed(_ call: Call) {
        guard call.ringer == .daemon, call.restriction == nil else { return }
        alerts.missed(alert(for: call), at: (call.receivedWallClock ?? unixMilliseconds()) / 1000)
    }

    private func alert(for call: Call) -> AlertCall {
        let update = call.update
        let title = update.callerName ?? update.identifiedAs.map { "Maybe: \($0)" } ?? update.caller ?? "Unknown caller"
        return AlertCall(
            key: call.key, app: call.key.app, title: title, detail: update.caller == title ? nil : update.caller,
            hasVideo: update.hasVideo ?? false, canAnswer: !calls.coordinator.isStruckOut(call.key.app),
            isWaiting: calls.coordinator.isInCall, ringtone: calls.configuration.apps[call.key.app]?.ringtone)
    }

    /// Puts other settings in force.
    func reconfigure(_ settings: RingSettings) {
        alerts.settings = settings
    }

    /// Ends all of it: nothing rings on, and nothing keeps the machine awake.
    func close() {
        alerts.close()
        keeper.close()
        cellular.close()
    }
}

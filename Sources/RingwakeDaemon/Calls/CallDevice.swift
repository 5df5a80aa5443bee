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
    private unowned let runner: EffectRunner
    private let events: EventStreams

    init(
        _ configuration: Configuration, runner: EffectRunner, runLoop: RunLoop, buses: Buses, events: EventStreams,
        descriptorLimit: (soft: UInt64, hard: UInt64), logger: Logger
    ) {
        self.runner = runner
        self.events = events
        alerts = CallAlerts(
            runLoop: runLoop, logger: logger, sessionBus: buses.session, environment: processEnvironment(),
            runtimeDirectory: configuration.runtimeDirectory, descriptorLimit: descriptorLimit)
        keeper = WakeKeeper(runLoop: runLoop, logger: logger, systemBus: buses.system, mode: configuration.awake)
        cellular = CellularMonitor(logger: logger, systemBus: buses.system)
        alerts.settings = configuration.ring
        alerts.onAnswer = { [weak runner] key in runner?.submit(.answerRequested(key)) }
        alerts.onDecline = { [weak runner] key in runner?.submit(.declineRequested(key)) }
        cellular.onChange = { [weak runner, events] isActive in
            events.publishToAll(EventMessage(cellular: isActive))
            runner?.submit(.cellularChanged(isActive: isActive))
        }
    }

    /// Looks what has to be done now.
    func update() {
        let coordinator = runner.coordinator
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
            hasVideo: update.hasVideo ?? false, canAnswer: !runner.coordinator.isStruckOut(call.key.app),
            isWaiting: runner.coordinator.isInCall, ringtone: runner.configuration.apps[call.key.app]?.ringtone)
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

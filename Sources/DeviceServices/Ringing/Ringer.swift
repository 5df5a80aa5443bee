internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Makes the device ring and vibrate: once, however many calls ring.
final class Ringer {
    var onFailure: ((AlertFailure) -> Void)?
    var onSuccess: ((AlertFailure.Part) -> Void)?

    private let runLoop: RunLoop
    private let surroundings: AlertProcess.Surroundings
    private let record: AlertRecord
    private let ring: RepeatedCommand
    private let vibration: RepeatedCommand
    private var tone: AlertProcess?
    private var waiting: Set<CallKey> = []
    private var isMissingRingtoneReported = false

    init(runLoop: RunLoop, surroundings: AlertProcess.Surroundings, record: AlertRecord, period: Duration) {
        self.runLoop = runLoop
        self.surroundings = surroundings
        self.record = record
        ring = RepeatedCommand(runLoop: runLoop, surroundings: surroundings, period: period)
        vibration = RepeatedCommand(runLoop: runLoop, surroundings: surroundings, period: period)
        connect(ring, .ring)
        connect(vibration, .vibration)
    }

    private func connect(_ command: RepeatedCommand, _ part: AlertFailure.Part) {
        command.onProcess = { [record] started, ended in
            if let started { record.began(started.pid) }
            if let ended { record.ended(ended.pid) }
        }
        command.onFailure = { [weak self] reason in
            self?.onFailure?(AlertFailure(part, "it is not tried again for this call: \(reason)"))
        }
        command.onSuccess = { [weak self] in self?.onSuccess?(part) }
    }

    /// Rings for these calls, and for no other.
    func show(_ calls: [AlertCall], settings: RingSettings) {
        let first = calls.first { !$0.isWaiting }
        let command = first.flatMap { settings.ringCommand(for: $0) }
        ring.run(command)
        vibration.run(first == nil ? nil : settings.vibrate)
        reportMissingRingtone(first != nil && settings.command != nil && command == nil)

        let nowWaiting = Set(calls.filter(\.isWaiting).map(\.key))
        let isNew = !nowWaiting.subtracting(waiting).isEmpty
        waiting = nowWaiting
        if nowWaiting.isEmpty {
            tone?.stop()
            tone = nil
        }
        // No tone while it rings for another call.
        if isNew, first == nil, let command = settings.waiting { playTone(command) }
    }

    private func playTone(_ command: [String]) {
        // A tone that still plays is enough for both.
        guard tone == nil else { return }
        do throws(AlertProcess.Failure) {
            let process = try AlertProcess.start(command, in: surroundings, runLoop: runLoop) {
                [weak self] process, exit in
                self?.toneEnded(process, exit)
            }
            tone = process
            record.began(process.pid)
        } catch {
            onFailure?(AlertFailure(.waitingTone, error.reason))
        }
    }

    private func toneEnded(_ process: AlertProcess, _ exit: ChildExit) {
        record.ended(process.pid)
        guard tone === process else { return }
        tone = nil
        switch exit {
        case .exited(0): onSuccess?(.waitingTone)
        case .exited(let status): onFailure?(AlertFailure(.waitingTone, "it exited with status \(status)"))
        case .signalled(let signal): onFailure?(AlertFailure(.waitingTone, "it was killed by signal \(signal)"))
        }
    }

    private func reportMissingRingtone(_ isMissing: Bool) {
        if isMissing, !isMissingRingtoneReported {
            let placeholder = RingSettings.filePlaceholder
            onFailure?(
                AlertFailure(
                    .ring, "the ring command plays \(placeholder) and no ringtone is configured; set ring.ringtone"))
        }
        isMissingRingtoneReported = isMissing
    }
}

import ControlProtocol
import RingwakeCore

/// An audio session of the daemon, kept open by a stream, and active whenever the daemon allows it.
final class AudioHold {
    private let client: ControlClient
    private let reporter: AudioReporter
    private var stream: EventStream
    private let id: UInt64
    /// Whether the session is open: neither ``end()`` nor the daemon has ended it.
    private(set) var isOpen = true

    /// Timeout of each change while a command runs: longer than the daemon's limit of an activation.
    private static let changeTimeout = Duration.seconds(5)

    /// Opens a session and waits until it is active.
    ///
    /// - Throws: the session can't be activated: no daemon, no audio server, or another session has priority.
    init(_ opening: AudioSessionOpening, _ client: ControlClient, _ reporter: AudioReporter) throws(RingwakeError) {
        self.reporter = reporter
        var stream = try client.stream(RequestTarget("audio", "sessions"), opening)
        let deadline = Deadline(after: client.timeout)
        var opened: UInt64?
        while true {
            let notice = try AudioHold.notice(try stream.next(until: deadline, output: nil))
            if notice.event == "opened" { opened = notice.id }
            if notice.event == "error" {
                let code = notice.code.flatMap { AudioSessionError.Code(rawValue: $0) } ?? .unspecified
                let error = AudioSessionError(code, notice.message ?? "the daemon does not say why").error
                throw RingwakeError(
                    error.code, "the audio session was not activated: \(error.message) (\(code.rawValue))")
            }
            // The notice `active` contains the route.
            if reporter.wantsJSON || notice.event != "routeChanged" { reporter.report(notice) }
            if notice.event == "active" { break }
        }
        guard let opened else {
            throw RingwakeError(.unreachable, "the daemon did not say which audio session it opened; see its log")
        }
        id = opened
        self.stream = stream
        var client = client
        client.timeout = AudioHold.changeTimeout
        self.client = client
    }

    /// For poll(2): readable if ``read()`` may find a notice.
    var descriptor: Int32 { stream.descriptor }

    /// Reports the notices received meanwhile. Activates the session again after an interruption or a loss of the
    /// server.
    func read() {
        do throws(RingwakeError) {
            while isOpen {
                let next = try stream.nextAtOnce()
                if next == .timedOut { return }
                let notice = try AudioHold.notice(next)
                reporter.report(notice)
                // The daemon doesn't reactivate a session after an interruption, or after the audio server came back.
                if notice.event == "interruptionEnded" || notice.event == "reset" { activate() }
            }
        } catch {
            isOpen = false
            reporter.report("\(error.message); the command continues without an audio session")
        }
    }

    private func activate() {
        do throws(RingwakeError) {
            // The stream reports when it is active.
            let _: AudioSessionMessage = try client.post(target("activate"))
        } catch {
            reporter.report("the audio session was not activated again: \(error.message)")
        }
    }

    /// Deactivates the session, which restores everything that it changed, and lets others resume.
    func end() {
        guard isOpen else { return }
        isOpen = false
        do throws(RingwakeError) {
            let _: AudioSessionMessage = try client.post(target("deactivate", [("notifyOthers", "true")]))
            reporter.report(AudioNoticeMessage(event: "inactive"))
        } catch {
            // Busy: children still play. The daemon mutes them until the stream closes, so there is nothing to
            // report.
            guard !error.message.hasSuffix("(\(AudioSessionError.Code.isBusy.rawValue))") else { return }
            reporter.report("the audio session was not deactivated cleanly: \(error.message)")
        }
    }

    private func target(_ verb: String, _ query: [(name: String, value: String?)] = []) -> RequestTarget {
        RequestTarget("audio", "sessions", "\(id)", verb, query: query)
    }

    private static func notice(_ next: EventStream.Next) throws(RingwakeError) -> AudioNoticeMessage {
        switch next {
        case .line(let line):
            return try EventStream.message(line, "an audio notice")
        case .timedOut:
            throw RingwakeError(.timedOut, "the daemon did not activate the audio session in time; see its log")
        case .ended, .outputClosed:
            throw RingwakeError(.unreachable, "the daemon stopped, which ended the audio session; see its log")
        }
    }
}

/// Reports a session's notices on standard error.
struct AudioReporter {
    let errors: Output
    /// Whether to print the notices as lines of JSON.
    let wantsJSON: Bool

    func report(_ notice: AudioNoticeMessage) {
        if wantsJSON {
            errors.write(bytes: controlLine(notice))
        } else if let text = AudioReporter.text(of: notice) {
            errors.write("ringwake: \(text)\n")
        }
    }

    /// Reports a message of this command itself.
    func report(_ text: String) {
        if wantsJSON {
            var notice = AudioNoticeMessage(event: "error")
            notice.message = text
            report(notice)
        } else {
            errors.write("ringwake: \(TerminalText.printable(text))\n")
        }
    }

    /// Nil for notices that don't matter to a person.
    static func text(of notice: AudioNoticeMessage) -> String? {
        let route = notice.route.map { AudioText.line(of: $0) }
        switch notice.event {
        case "active": return "audio is active" + (route.map { ": \($0)" } ?? "")
        case "inactive": return "audio is no longer active"
        case "interrupted": return "audio was interrupted" + why(notice.reason)
        case "interruptionEnded": return "the interruption has ended"
        case "routeChanged": return "audio route changed: \(route ?? "no device")" + why(notice.reason)
        case "silenceHint":
            return notice.silence == true
                ? "another session plays that does not mix" : "no other session plays now"
        case "lost": return "the connection to the audio server was lost"
        case "reset": return "the audio server is back"
        default: return nil
        }
    }

    private static func why(_ reason: String?) -> String {
        switch reason {
        case nil, "unknown": ""
        case "default": ": another session has a higher priority"
        case "builtInMicMuted": ": the microphone is muted"
        case "routeDisconnected", "oldDeviceUnavailable": ": the device was removed"
        case "newDeviceAvailable": ": there is a new device"
        case "categoryChange": ": the active sessions changed"
        case "override": ": the user or the client chose it"
        case "wakeFromSleep": ": the machine slept"
        case "noSuitableRouteForCategory": ": no device fits"
        case "routeConfigurationChange": ": the device changed"
        case let other?: ": \(TerminalText.printable(other))"
        }
    }
}

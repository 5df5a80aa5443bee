import ControlProtocol
import FoundationEssentials
import RingwakeCore

/// An audio session of the daemon's, held by a stream that is open: active for as long as may be.
final class AudioHold {
    private let client: ControlClient
    private let reporter: AudioReporter
    private var stream: EventStream
    private let id: UInt64
    /// The daemon has not ended the stream.
    private(set) var isOpen = true

    /// How long each change may take while a command runs: the daemon bounds an activation by less.
    private static let changeTimeout = Duration.seconds(5)

    /// Opens a session and waits until it is active.
    ///
    /// - Throws: it cannot be: no daemon, no audio server, another session comes first.
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
                throw RingwakeError(error.code, "the audio session is not active: \(error.message) (\(code.rawValue))")
            }
            // Where sound goes is said with `active`.
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

    /// To wait on: readable when ``read()`` may have something.
    var descriptor: Int32 { stream.descriptor }

    /// Tells what the daemon has said meanwhile, and activates the session again where that is to be.
    func read() {
        do throws(RingwakeError) {
            while isOpen {
                let next = try stream.nextAtOnce()
                if next == .timedOut { return }
                let notice = try AudioHold.notice(next)
                reporter.report(notice)
                // One that was interrupted is not active again by itself; nor is one whose server has come back.
                if notice.event == "interruptionEnded" || notice.event == "reset" { activate() }
            }
        } catch {
            isOpen = false
            reporter.report("\(error.message); the command goes on without an audio session")
        }
    }

    private func activate() {
        do throws(RingwakeError) {
            // The stream says that it is active.
            let _: AudioSessionMessage = try client.post(target("activate"))
        } catch {
            reporter.report("the audio session is not active again: \(error.message)")
        }
    }

    /// Deactivates the session, with all that it changed put back, and lets others go on.
    func end() {
        guard isOpen else { return }
        isOpen = false
        do throws(RingwakeError) {
            let _: AudioSessionMessage = try client.post(target("deactivate", [("notifyOthers", "true")]))
            reporter.report(AudioNoticeMessage(event: "inactive"))
        } catch {
            // Children that play on are silenced, and go on when the stream closes. Any other failure ends with that too.
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
            if let notice = try? JSONDecoder().decode(AudioNoticeMessage.self, from: Data(line)) { return notice }
            throw RingwakeError(
                .unreachable,
                "the daemon sent an audio notice that this version does not know; install the same "
                    + "version of both")
        case .timedOut:
            throw RingwakeError(.timedOut, "the daemon did not activate the audio session in time; see its log")
        case .ended, .outputClosed:
            throw RingwakeError(.unreachable, "the daemon ended the audio session: it stopped; see its log")
        }
    }
}

/// Says on standard error what becomes of a session.
struct AudioReporter {
    let errors: Output
    /// As the lines of JSON that the daemon gives.
    let wantsJSON: Bool

    func report(_ notice: AudioNoticeMessage) {
        if wantsJSON {
            // Texts, numbers and Booleans always encode.
            if let line = try? JSONText.line(notice) { errors.write(line) }
        } else if let text = AudioReporter.text(of: notice) {
            errors.write("ringwake: \(text)\n")
        }
    }

    /// Something that the daemon does not say.
    func report(_ text: String) {
        if wantsJSON {
            report(AudioNoticeMessage(event: "error", message: text))
        } else {
            errors.write("ringwake: \(TerminalText.printable(text))\n")
        }
    }

    /// Nil of what a person need not hear.
    static func text(of notice: AudioNoticeMessage) -> String? {
        let route = notice.route.map { AudioText.line(of: $0) }
        switch notice.event {
        case "active": return "audio is active" + (route.map { ": \($0)" } ?? "")
        case "inactive": return "audio is no longer active"
        case "interrupted": return "audio was interrupted" + why(notice.reason)
        case "interruptionEnded": return "the interruption is over"
        case "routeChanged": return "audio route changed: \(route ?? "no device")" + why(notice.reason)
        case "silenceHint":
            return notice.silence == true
                ? "something else plays that others must not overlap" : "nothing else plays any more"
        case "lost": return "the audio server went away"
        case "reset": return "the audio server is there again"
        default: return nil
        }
    }

    private static func why(_ reason: String?) -> String {
        switch reason {
        case nil, "unknown": ""
        case "default": ": something else comes first"
        case "builtInMicMuted": ": the microphone is muted"
        case "routeDisconnected", "oldDeviceUnavailable": ": the device is gone"
        case "newDeviceAvailable": ": there is a new device"
        case "categoryChange": ": what is active changed"
        case "override": ": it was chosen"
        case "wakeFromSleep": ": the machine slept"
        case "noSuitableRouteForCategory": ": no device fits"
        case "routeConfigurationChange": ": the device changed"
        case let other?: ": \(TerminalText.printable(other))"
        }
    }
}

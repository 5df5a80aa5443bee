import ControlProtocol
import RingwakeCore

/// The clocks of senders that are wrong, for people.
enum SenderClockText {
    static func lines(_ pushes: StatusMessage.Pushes) -> [String] {
        (pushes.clocksBehindMs ?? [:]).sorted { $0.key < $1.key }.map { team, behind in
            let distance = DurationText.long(milliseconds: behind == .min ? .max : abs(behind))
            return "the clock of team \(TerminalText.printable(team)) is \(distance) "
                + (behind > 0 ? "behind" : "ahead of") + " this device's"
        }
    }
}

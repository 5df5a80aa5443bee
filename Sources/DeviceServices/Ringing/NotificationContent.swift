internal import Glibc
internal import RingwakeCore

/// The contents of a notification, before the capabilities of the server are known.
///
/// See the Desktop Notifications Specification 1.3, "Basic Design", "Categories", "Hints" and "Markup".
nonisolated struct NotificationContent: Hashable {
    /// A button: the key that the server answers with, and the label.
    struct Action: Hashable {
        let key: String
        let label: String
    }

    static let answer = "answer"
    static let decline = "decline"

    /// One line of plain text; servers give it no markup.
    let summary: String
    /// Lines of plain text.
    let body: [String]
    let icon: String
    let category: String
    /// 0 low, 1 normal, 2 critical: a critical one stays until it is closed, also over a full-screen window.
    let urgency: UInt8
    let actions: [Action]
    /// Milliseconds; 0: it never expires, -1: the server decides.
    let timeout: Int32
    /// An action doesn't close it: it is withdrawn when the call no longer rings.
    let isResident: Bool
    /// The daemon makes the sounds itself.
    let isSilent: Bool

    /// The notification of a ringing call.
    init(of call: AlertCall, isSilent: Bool) {
        summary = ShownLine.clean(call.title) ?? "Unknown caller"
        let kind = call.hasVideo ? "Incoming video call" : "Incoming call"
        body = [call.isWaiting ? "\(kind), while another goes on" : kind] + Self.lines(call.detail)
        icon = "call-start"
        category = "call.incoming"
        urgency = 2
        actions =
            call.canAnswer
            ? [Action(key: Self.answer, label: "Answer"), Action(key: Self.decline, label: "Decline")]
            : [Action(key: Self.decline, label: "Dismiss")]
        timeout = 0
        isResident = true
        self.isSilent = isSilent
    }

    /// The notification of a missed call.
    /// - Parameters:
    ///   - time: when it arrived, seconds since 1970.
    ///   - now: the current time, seconds since 1970.
    init(ofMissed call: AlertCall, at time: Int64, now: Int64) {
        summary = call.hasVideo ? "Missed video call" : "Missed call"
        body =
            [ShownLine.clean(call.title) ?? "Unknown caller"] + Self.lines(call.detail)
            + [WallTime.text(time, now: now)].compactMap { $0 }
        icon = "call-stop"
        category = "call.unanswered"
        urgency = 1
        actions = []
        timeout = -1
        isResident = false
        isSilent = false
    }

    private static func lines(_ detail: String?) -> [String] {
        detail.flatMap { ShownLine.clean($0) }.map { [$0] } ?? []
    }

    /// The body in the form that the server expects.
    /// - Parameter isMarkup: whether the server has `body-markup`, and so reads `<`, `&` and their like as markup.
    func text(isMarkup: Bool) -> String {
        let text = body.joined(separator: "\n")
        return isMarkup ? Self.escaped(text) : text
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// Cleans untrusted text for one line of a notification.
nonisolated enum ShownLine {
    /// At most ``CallUpdate/maximumTextBytes``, without characters that would end the line, move a cursor or change
    /// the direction of the text beside it; nil if nothing visible is left.
    static func clean(_ text: String) -> String? {
        var scalars = String.UnicodeScalarView()
        // Don't read a longer text to its end: only this many scalars can be left.
        for scalar in text.unicodeScalars.prefix(4 * CallUpdate.maximumTextBytes) {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .spaceSeparator: scalars.append(" ")
            // Joiners form letters of some scripts, and emoji: 200C, 200D. The other format characters change the
            // direction (202E), are invisible (00AD, FEFF) or carry hidden text (E0020 to E007F).
            case .format: if scalar == "\u{200C}" || scalar == "\u{200D}" { scalars.append(scalar) }
            default: scalars.append(scalar)
            }
        }
        let line = String(scalars).split(separator: " ").joined(separator: " ")
        guard line.unicodeScalars.contains(where: isVisible) else { return nil }
        // The only error, a zero byte, was replaced above.
        return (try? ShownText.kept(line)) ?? nil
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        scalar != " " && !scalar.properties.isDefaultIgnorableCodePoint
    }
}

/// Times for a person, in the time zone of the machine.
nonisolated enum WallTime {
    /// "14:05", with the date when it is not today's; nil when the machine cannot tell.
    static func text(_ seconds: Int64, now: Int64) -> String? {
        guard let time = local(seconds), let today = local(now) else { return nil }
        let clock = "\(padded(time.tm_hour)):\(padded(time.tm_min))"
        if time.tm_year == today.tm_year, time.tm_yday == today.tm_yday { return clock }
        return "\(1900 + Int(time.tm_year))-\(padded(time.tm_mon + 1))-\(padded(time.tm_mday)) \(clock)"
    }

    private static func local(_ seconds: Int64) -> tm? {
        guard var time = time_t(exactly: seconds) else { return nil }
        var parts = tm()
        return localtime_r(&time, &parts) == nil ? nil : parts
    }

    private static func padded(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

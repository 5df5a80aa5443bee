package import RingwakeCore

/// A ringing call, as it is shown to a person.
package nonisolated struct AlertCall: Hashable, Sendable {
    /// Which call it is.
    package var key: CallKey
    /// The app that it came for.
    package var app: AppID
    /// Who calls: a name, a number, or that it is unknown. Untrusted text.
    package var title: String
    /// A second line: the number beside the name, or the text of a list. Untrusted text.
    package var detail: String?
    /// Whether the call has video.
    package var hasVideo: Bool
    /// False if no handler would take the call; it can only be dismissed.
    package var canAnswer: Bool
    /// Another call is in progress: a short tone replaces the ringing.
    package var isWaiting: Bool
    /// The app's own ringtone, a file; nil: the one in the settings.
    package var ringtone: String?

    package init(
        key: CallKey, app: AppID, title: String, detail: String? = nil, hasVideo: Bool = false, canAnswer: Bool = true,
        isWaiting: Bool = false, ringtone: String? = nil
    ) {
        self.key = key
        self.app = app
        self.title = title
        self.detail = detail
        self.hasVideo = hasVideo
        self.canAnswer = canAnswer
        self.isWaiting = isWaiting
        self.ringtone = ringtone
    }
}

/// How the device rings.
///
/// A command is an absolute path and its arguments, executed without a shell. It should end by itself after one round
/// of the ringtone or of the pattern: it is started again while the call rings.
package nonisolated struct RingSettings: Hashable, Sendable {
    /// Plays a ringtone once. ``filePlaceholder`` in an argument is replaced by the ringtone.
    package var command: [String]?
    /// The ringtone of apps that have none of their own, a file.
    package var ringtone: String?
    /// Vibrates for one round.
    package var vibrate: [String]?
    /// Runs once for a call that waits while another is in progress.
    package var waiting: [String]?
    /// Whether the desktop's notification server shows ringing and missed calls.
    package var notifications: Bool

    /// The placeholder of the ringtone in ``command``.
    package static let filePlaceholder = "{file}"

    package init(
        command: [String]? = nil, ringtone: String? = nil, vibrate: [String]? = nil, waiting: [String]? = nil,
        notifications: Bool = true
    ) {
        self.command = command
        self.ringtone = ringtone
        self.vibrate = vibrate
        self.waiting = waiting
        self.notifications = notifications
    }

    /// Whether the daemon makes a sound or vibrates itself, so that the notification server need not.
    var isAudible: Bool { command != nil || vibrate != nil }

    /// The command that rings for `call`; nil if there is none, or no ringtone for it.
    func ringCommand(for call: AlertCall) -> [String]? {
        guard let command else { return nil }
        let file = call.ringtone ?? ringtone
        var isMissing = false
        let filled = command.map { argument in
            argument.filling(Self.filePlaceholder) {
                isMissing = file == nil
                return file ?? ""
            }
        }
        return isMissing ? nil : filled
    }
}

extension String {
    /// Replaces each `placeholder` by the result of `value`, which isn't searched again.
    fileprivate nonisolated func filling(_ placeholder: String, with value: () -> String) -> String {
        var filled: [UInt8] = []
        var rest = utf8[...]
        while !rest.isEmpty {
            if rest.starts(with: placeholder.utf8) {
                filled += value().utf8
                rest = rest.dropFirst(placeholder.utf8.count)
            } else {
                filled += rest.prefix(1)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: filled, as: UTF8.self)
    }
}

/// A part of an alert that did not work.
package nonisolated struct AlertFailure: Hashable, Sendable {
    /// The parts that fail independently: a phone that can't vibrate rings nevertheless.
    package enum Part: String, Sendable, CaseIterable {
        case ring
        case vibration
        case waitingTone
        case notification
    }

    package let part: Part
    /// What happened, why, and what to do.
    package let reason: String

    package init(_ part: Part, _ reason: String) {
        self.part = part
        self.reason = reason
    }
}

// The device services in ``StatusMessage``.
extension StatusMessage {
    /// Do not disturb, without its exceptions: ``DoNotDisturbMessage`` has them.
    package struct DoNotDisturb: Codable, Equatable, Sendable {
        /// `off`, `on` or `scheduled`.
        package var state = "off"
        /// Whether it keeps calls out now.
        package var active = false
    }

    /// How the machine is kept awake.
    package struct Awake: Codable, Equatable, Sendable {
        /// Whether a call needs it now.
        package var needed: Bool
        /// The service in use: `logind`, `kernel` or `none`.
        package var by: String
        /// Why it doesn't work as configured; nil if it does.
        package var why: String?

        package init(needed: Bool = false, by: String = "none", why: String? = nil) {
            self.needed = needed
            self.by = by
            self.why = why
        }
    }

    /// The modem's calls, as ModemManager reports them.
    package struct Cellular: Codable, Equatable, Sendable {
        /// `watching`, `unavailable` (no ModemManager, or no bus) or `off`.
        package var state: String
        /// Whether a cellular call is in progress.
        package var active: Bool
        /// Why calls aren't monitored.
        package var why: String?

        package init(state: String = "off", active: Bool = false, why: String? = nil) {
            self.state = state
            self.active = active
            self.why = why
        }
    }

    /// How the daemon rings.
    package struct Ring: Codable, Equatable, Sendable {
        /// Number of calls that it rings for now.
        package var ringing: Int
        /// What failed last: ring command, vibration, notification.
        package var why: String?
        /// Why the device cannot ring as configured, a line each; nil if nothing is known.
        package var problems: [String]?

        package init(ringing: Int = 0, why: String? = nil, problems: [String]? = nil) {
            self.ringing = ringing
            self.why = why
            self.problems = problems
        }
    }

    /// What a start restored from the last run.
    package struct Restoration: Codable, Equatable, Sendable {
        /// Number of restored calls.
        package var restored: Int
        /// Number of rows that couldn't be read, and were set aside.
        package var setAside: Int
        /// Why the first of them couldn't be read.
        package var why: String?

        package init(restored: Int = 0, setAside: Int = 0, why: String? = nil) {
            self.restored = restored
            self.setAside = setAside
            self.why = why
        }
    }

    /// The audio sessions, without device names: ``AudioStatusMessage`` has the rest.
    package struct Audio: Codable, Equatable, Sendable {
        /// `program`, `socket` or `none`.
        package var backend: String
        /// As ``AudioStatusMessage/state``.
        package var state: String
        /// Number of open sessions.
        package var sessions: Int
        /// Whether the audio of a call is active.
        package var call: Bool
    }

    /// A message bus.
    package struct Bus: Codable, Equatable, Sendable {
        /// `connected`, or `unavailable`.
        package var state: String
        /// Why it isn't connected.
        package var why: String?

        package init(state: String, why: String? = nil) {
            self.state = state
            self.why = why
        }
    }
}

extension StatusMessage.Audio {
    package init(_ audio: AudioStatusMessage) {
        self.init(backend: audio.backend, state: audio.state, sessions: audio.sessions, call: audio.call)
    }
}

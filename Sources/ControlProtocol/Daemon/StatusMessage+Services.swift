// What the daemon uses of the device, as ``StatusMessage`` tells it.
extension StatusMessage {
    /// Do not disturb, without whom it lets through: ``DoNotDisturbMessage`` has that.
    package struct DoNotDisturb: Codable, Equatable, Sendable {
        /// `off`, `on` or `scheduled`.
        package var state = "off"
        /// Whether it keeps calls out now.
        package var active = false
    }

    /// What keeps the machine awake.
    package struct Awake: Codable, Equatable, Sendable {
        /// Whether a call needs it now.
        package var needed: Bool
        /// By what it is done: `logind`, `kernel` or `none`.
        package var by: String
        /// Why it cannot be done as it should be; nil where it can.
        package var why: String?

        package init(needed: Bool = false, by: String = "none", why: String? = nil) {
            self.needed = needed
            self.by = by
            self.why = why
        }
    }

    /// Calls of the modem, as ModemManager tells of them.
    package struct Cellular: Codable, Equatable, Sendable {
        /// `watching`, `unavailable` (no ModemManager, or no bus) or `off`.
        package var state: String
        /// Whether a cellular call goes on.
        package var active: Bool
        /// Why it is not watched.
        package var why: String?

        package init(state: String = "off", active: Bool = false, why: String? = nil) {
            self.state = state
            self.active = active
            self.why = why
        }
    }

    /// What the daemon rings with.
    package struct Ring: Codable, Equatable, Sendable {
        /// How many calls it rings for now.
        package var ringing: Int
        /// What went wrong the last time: ring command, vibration, notification.
        package var why: String?

        package init(ringing: Int = 0, why: String? = nil) {
            self.ringing = ringing
            self.why = why
        }
    }

    /// What a start found of the run before.
    package struct Restoration: Codable, Equatable, Sendable {
        /// How many objects were taken over: calls, handlers, strikes, octets of apps.
        package var restored: Int
        /// How many could not be read, and were set aside.
        package var setAside: Int
        /// Why the first of them could not be read.
        package var why: String?

        package init(restored: Int = 0, setAside: Int = 0, why: String? = nil) {
            self.restored = restored
            self.setAside = setAside
            self.why = why
        }
    }

    /// The audio sessions, without the user's devices: ``AudioStatusMessage`` has the rest.
    package struct Audio: Codable, Equatable, Sendable {
        /// `program`, `socket` or `none`.
        package var backend: String
        /// As ``AudioStatusMessage/state``.
        package var state: String
        /// Sessions that are open.
        package var sessions: Int
        /// Whether the audio of a call is active.
        package var call: Bool
    }

    /// A message bus.
    package struct Bus: Codable, Equatable, Sendable {
        /// `connected`, or `unavailable`.
        package var state: String
        /// Why it is not connected.
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

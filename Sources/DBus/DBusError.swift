/// A D-Bus error: the other side's answer, or why there is none.
package struct DBusError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error's name on the bus, `org.freedesktop.DBus.Error.ServiceUnknown`.
    package let name: String
    /// The sender's text, for people: at most ``maximumMessageScalars`` long. Control characters, and characters that
    /// change the direction of text, are replaced.
    package let message: String

    /// Maximum length of ``message``; longer texts of a peer are cut.
    package static let maximumMessageScalars = 512

    package init(name: String, message: String) {
        self.name = name
        var scalars = String.UnicodeScalarView()
        for scalar in message.unicodeScalars.prefix(Self.maximumMessageScalars) {
            scalars.append(Self.isShown(scalar) ? scalar : "\u{FFFD}")
        }
        self.message = String(scalars)
    }

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }

    package var description: String { message.isEmpty ? name : "\(name): \(message)" }

    // MARK: - Names that are compared

    /// There is no bus at the address, or it does not let us in.
    package static let noServer = "org.freedesktop.DBus.Error.NoServer"
    /// The bus went away.
    package static let disconnected = "org.freedesktop.DBus.Error.Disconnected"
    /// No answer within the time.
    package static let noReply = "org.freedesktop.DBus.Error.NoReply"
    /// Nobody has the name and nothing starts it.
    package static let serviceUnknown = "org.freedesktop.DBus.Error.ServiceUnknown"
    /// Nobody has the name.
    package static let nameHasNoOwner = "org.freedesktop.DBus.Error.NameHasNoOwner"
    /// The message to send is invalid.
    package static let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
    /// Anything else.
    package static let failed = "org.freedesktop.DBus.Error.Failed"
    /// A limit of this module or of the bus was reached.
    package static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"

    /// True when nobody offers the service and the bus could not start it.
    package var isServiceAbsent: Bool {
        name == Self.serviceUnknown || name == Self.nameHasNoOwner
            || name.hasPrefix("org.freedesktop.DBus.Error.Spawn.")
    }

    /// Whether the bus is missing or has gone away: the other side did not answer.
    package var isBusAbsent: Bool { name == Self.noServer || name == Self.disconnected }
}

/// A D-Bus error: what the other side answered, or what kept it from answering.
package struct DBusError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error's name on the bus, `org.freedesktop.DBus.Error.ServiceUnknown`.
    package let name: String
    /// What the sender says of it: for people. At most ``maximumMessageScalars`` long, without control characters and
    /// those that change the direction of text.
    package let message: String

    /// Longer texts of a peer are cut.
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
    /// What was to be sent is no valid message.
    package static let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
    /// Anything else.
    package static let failed = "org.freedesktop.DBus.Error.Failed"
    /// A bound of this module or of the bus was reached.
    package static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"

    /// True when nobody offers the service and the bus could not start it.
    package var isServiceAbsent: Bool {
        name == Self.serviceUnknown || name == Self.nameHasNoOwner
            || name.hasPrefix("org.freedesktop.DBus.Error.Spawn.")
    }

    /// True when it was not the other side that answered: no bus, or none any more.
    package var isBusAbsent: Bool { name == Self.noServer || name == Self.disconnected }
}

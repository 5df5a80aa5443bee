import CRingwakeSystemd

/// A method call, complete but not sent.
final class Message {
    let pointer: OpaquePointer

    /// - Throws: `invalidArguments` for an invalid name, path or argument.
    init(
        bus: OpaquePointer, destination: String, path: String, interface: String, member: String,
        arguments: [DBusValue]
    ) throws(DBusError) {
        try DBusNames.check(destination, isValid: DBusNames.isBusName, "bus name")
        try DBusNames.check(path, isValid: DBusNames.isObjectPath, "object path")
        try DBusNames.check(interface, isValid: DBusNames.isInterface, "interface")
        try DBusNames.check(member, isValid: DBusNames.isMember, "member")
        var made: OpaquePointer?
        let result = sd_bus_message_new_method_call(bus, &made, destination, path, interface, member)
        guard result >= 0, let made else {
            throw DBusError(name: DBusError.disconnected, message: String(systemError: result))
        }
        pointer = made
        let writer = MessageWriter(message: made)
        for argument in arguments { try writer.append(argument) }
    }

    deinit { sd_bus_message_unref(pointer) }

    /// Forbids the bus to start the service for it.
    func forbidAutoStart() {
        sd_bus_message_set_auto_start(pointer, 0)
    }
}

/// A received message.
final class ReceivedMessage {
    enum Kind {
        /// A method's return or error, for the call with this serial number.
        case reply(UInt64)
        case signal
        case methodCall
    }

    let kind: Kind
    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
        var type: UInt8 = 0
        sd_bus_message_get_type(pointer, &type)
        switch Int(type) {
        case SD_BUS_MESSAGE_METHOD_RETURN, SD_BUS_MESSAGE_METHOD_ERROR:
            var cookie: UInt64 = 0
            // Serial numbers begin at 1; sd-bus refuses a reply without one.
            sd_bus_message_get_reply_cookie(pointer, &cookie)
            kind = .reply(cookie)
        case SD_BUS_MESSAGE_METHOD_CALL:
            kind = .methodCall
        default:
            kind = .signal
        }
    }

    deinit { sd_bus_message_unref(pointer) }

    /// The sender's unique name, which the bus fills in; `org.freedesktop.DBus` for the bus itself.
    var sender: String { Self.text(sd_bus_message_get_sender(pointer)) }
    var path: String { Self.text(sd_bus_message_get_path(pointer)) }
    var interface: String { Self.text(sd_bus_message_get_interface(pointer)) }
    var member: String { Self.text(sd_bus_message_get_member(pointer)) }

    /// The error, or the arguments.
    func result() -> Result<[DBusValue], DBusError> {
        if let error = sd_bus_message_get_error(pointer) {
            let message = error.pointee.message.map { Self.bounded($0) } ?? ""
            return .failure(DBusError(name: Self.text(error.pointee.name), message: message))
        }
        do throws(DBusError) {
            var reader = MessageReader(pointer)
            return .success(try reader.arguments())
        } catch {
            return .failure(error)
        }
    }

    /// Answers a method call with an error: this connection offers no objects.
    func refuse() {
        guard sd_bus_message_get_expect_reply(pointer) > 0 else { return }
        var error = sd_bus_error()
        sd_bus_error_set(&error, "org.freedesktop.DBus.Error.UnknownObject", "Ringwake offers no objects here")
        // It fails only if the connection does, which is noticed elsewhere.
        _ = sd_bus_reply_method_error(pointer, &error)
        sd_bus_error_free(&error)
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }

    /// As much of a peer's text as ``DBusError`` may keep: a character has at most four bytes.
    private static func bounded(_ pointer: UnsafePointer<CChar>) -> String {
        let length = strnlen(pointer, DBusError.maximumMessageScalars * 4)
        return String(decoding: UnsafeRawBufferPointer(start: pointer, count: length), as: UTF8.self)
    }
}

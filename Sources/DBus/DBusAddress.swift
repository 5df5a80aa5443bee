/// The address of a message bus.
package enum DBusAddress: Hashable, Sendable {
    /// The machine's: `DBUS_SYSTEM_BUS_ADDRESS`, or the well-known socket.
    case system
    /// The user's: `DBUS_SESSION_BUS_ADDRESS`, or the socket `bus` in `XDG_RUNTIME_DIR`.
    case session
    /// A server address, as in the D-Bus Specification, "Server Addresses": `unix:path=/run/dbus/system_bus_socket`.
    case address(String)

    /// Where the system bus listens by default (D-Bus Specification, "System message bus").
    package static let standardSystemSocket = "/run/dbus/system_bus_socket"

    /// The address as text; nil when the environment names no session bus.
    ///
    /// - Parameter environment: the variables to read; an empty one counts as absent.
    package func text(environment: [String: String]) -> String? {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        switch self {
        case .system:
            return variable("DBUS_SYSTEM_BUS_ADDRESS") ?? "unix:path=\(Self.standardSystemSocket)"
        case .session:
            if let address = variable("DBUS_SESSION_BUS_ADDRESS") { return address }
            return variable("XDG_RUNTIME_DIR").map { "unix:path=" + UnixEndpoint.escaped($0 + "/bus") }
        case .address(let text):
            return text
        }
    }

    /// The sockets to try, in this order.
    ///
    /// - Throws: `noServer` if there is no address, or none of a supported kind.
    func endpoints(environment: [String: String]) throws(DBusError) -> [UnixEndpoint] {
        guard let text = text(environment: environment) else {
            throw DBusError(
                name: DBusError.noServer,
                message: "no session bus: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set")
        }
        let endpoints = text.split(separator: ";").compactMap { UnixEndpoint(address: $0) }
        guard !endpoints.isEmpty else {
            throw DBusError(
                name: DBusError.noServer,
                message: "the bus address \"\(text)\" names no unix socket; unix:path= and unix:abstract= are supported"
            )
        }
        return endpoints
    }
}

/// A unix socket of a bus.
struct UnixEndpoint: Hashable {
    /// A path, or a name in the abstract namespace.
    var name: [UInt8]
    var isAbstract: Bool

    /// - Returns: nil for every transport but unix. TCP needs a name lookup, which waits; `unixexec` starts programs.
    init?(address: Substring) {
        guard let colon = address.firstIndex(of: ":"), address[..<colon] == "unix" else { return nil }
        var found: (name: [UInt8], isAbstract: Bool)?
        for pair in address[address.index(after: colon)...].split(separator: ",") {
            guard let sign = pair.firstIndex(of: "=") else { return nil }
            let key = pair[..<sign]
            guard key == "path" || key == "abstract" else { continue }
            guard found == nil, let name = Self.unescaped(pair[pair.index(after: sign)...]) else { return nil }
            found = (name, key == "abstract")
        }
        guard let found, !found.name.isEmpty, !found.name.contains(0) else { return nil }
        (name, isAbstract) = found
    }

    /// The name for people.
    var shown: String { (isAbstract ? "@" : "") + String(decoding: name, as: UTF8.self) }

    /// Undoes the escapes of a value in an address: `%20`.
    private static func unescaped(_ value: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = value.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// A value escaped for an address: all bytes but those that may stay unescaped.
    static func escaped(_ value: String) -> String {
        var text = ""
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
                UInt8(ascii: "\\"), UInt8(ascii: "."), UInt8(ascii: "*"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16)
                text += digits.count == 1 ? "%0" + digits : "%" + digits
            }
        }
        return text
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.flatMap { UInt8(exactly: $0) }
    }
}

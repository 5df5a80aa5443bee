package import RingwakeCore

/// The stored data that finds a running handler after the daemon restarts.
///
/// It is valid only in the boot in which it was made. Store the boot ID with it, and drop it after a reboot. A handler
/// on a socket has none, because its connection ends with the daemon.
package nonisolated enum HandlerMark: Hashable, Sendable {
    /// A process that the daemon started, the leader of its group.
    case process(ProcessIdentity)
    /// One activation of a unit: systemd gives each a 128-bit ID. `ranBefore`: the unit ran before it was woken, so the
    /// daemon doesn't end it.
    case unit(name: String, manager: SystemdManager, invocation: [UInt8], ranBefore: Bool)
    /// The owner of a bus name, and the call that it was woken for. A restarted bus numbers its connections anew, so
    /// the process is stored too.
    case owner(of: DBusHandlerName, connection: String, process: ProcessIdentity, app: AppID, call: CallID)
}

/// Stored as an object with one of three keys. The keys must not change, so that a new version still finds the handlers
/// of an older one.
extension HandlerMark: Codable {
    private struct Form: Codable {
        struct Process: Codable {
            let identity: ProcessIdentity

            enum CodingKeys: String, CodingKey {
                case identity = "_0"
            }
        }

        struct Unit: Codable {
            let name: String
            let manager: SystemdManager
            let invocation: [UInt8]
            let ranBefore: Bool

            enum CodingKeys: String, CodingKey {
                case name, manager, invocation, ranBefore
            }
        }

        struct Owner: Codable {
            let of: DBusHandlerName
            let connection: String
            let process: ProcessIdentity
            let app: AppID
            let call: CallID

            enum CodingKeys: String, CodingKey {
                case of, connection, process, app, call
            }
        }

        var process: Process?
        var unit: Unit?
        var owner: Owner?

        enum CodingKeys: String, CodingKey {
            case process, unit, owner
        }
    }

    package init(from decoder: any Decoder) throws {
        let form = try Form(from: decoder)
        switch (form.process, form.unit, form.owner) {
        case (let process?, nil, nil): self = .process(process.identity)
        case (nil, let unit?, nil):
            self = .unit(
                name: unit.name, manager: unit.manager, invocation: unit.invocation, ranBefore: unit.ranBefore)
        case (nil, nil, let owner?):
            self = .owner(
                of: owner.of, connection: owner.connection, process: owner.process, app: owner.app, call: owner.call)
        default:
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "it names no handler, or more than one"))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var form = Form()
        switch self {
        case .process(let identity): form.process = .init(identity: identity)
        case .unit(let name, let manager, let invocation, let ranBefore):
            form.unit = .init(name: name, manager: manager, invocation: invocation, ranBefore: ranBefore)
        case .owner(let name, let connection, let process, let app, let call):
            form.owner = .init(of: name, connection: connection, process: process, app: app, call: call)
        }
        try form.encode(to: encoder)
    }
}

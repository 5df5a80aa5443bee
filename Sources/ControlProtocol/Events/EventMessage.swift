/// One line of `/v1/events`, or of a handler's stream: a JSON object whose member `event` is the name of the event.
///
/// A stream starts with the state of each matching call, the open actions of its handler, and the pushes that wait to
/// be fetched. So a handler that reports first and opens the stream later misses nothing. A client that doesn't read is
/// disconnected when more than 1 MiB waits for it.
package enum EventMessage: Equatable, Sendable {
    case handler(Handler)
    case wake(Wake)
    case call(CallChange)
    case action(Action)
    case pushIgnored(PushIgnored)
    case pushRequest(PushRequest)
    case pushWaiting(PushWaiting)
    case strike(Strike)
    case struckOut(StruckOut)
    case restricted(Restricted)
    case missed(Missed)
    case cellular(Cellular)
    case audioActivated(AudioActivated)
    case audioDeactivated(AudioDeactivated)
    case audioFailed(AudioFailed)
    case audioRouteChanged(AudioRouteChanged)
    case path(Path)
    case connection(Connection)
    case credentials(Credentials)
    case linkReset(LinkReset)
    case reload(Reload)
    case stateDropped(StateDropped)
    case protectedData(ProtectedData)
    case restrictions(Restrictions)
    case telephony(Telephony)
    /// An event that this version doesn't know, with its name.
    case unknown(String)

    /// The names of the events; `Documentation/control-api.yaml` has a schema for each: `CallEvent` for `call`.
    package enum Name: String, Sendable, CaseIterable {
        case handler, wake, call, action, pushIgnored, pushRequest, pushWaiting, strike, struckOut, restricted, missed
        case cellular
        case audioActivated, audioDeactivated, audioFailed, audioRouteChanged, path, connection, credentials
        case linkReset, reload, stateDropped, protectedData, restrictions, telephony
    }

    /// The event's own members; nil for an unknown event.
    package var content: (any EventContent)? {
        switch self {
        case .handler(let event): event
        case .wake(let event): event
        case .call(let event): event
        case .action(let event): event
        case .pushIgnored(let event): event
        case .pushRequest(let event): event
        case .pushWaiting(let event): event
        case .strike(let event): event
        case .struckOut(let event): event
        case .restricted(let event): event
        case .missed(let event): event
        case .cellular(let event): event
        case .audioActivated(let event): event
        case .audioDeactivated(let event): event
        case .audioFailed(let event): event
        case .audioRouteChanged(let event): event
        case .path(let event): event
        case .connection(let event): event
        case .credentials(let event): event
        case .linkReset(let event): event
        case .reload(let event): event
        case .stateDropped(let event): event
        case .protectedData(let event): event
        case .restrictions(let event): event
        case .telephony(let event): event
        case .unknown: nil
        }
    }

    /// The value of the member `event`.
    package var name: String {
        if case .unknown(let name) = self { name } else { content.map { type(of: $0).name.rawValue } ?? "" }
    }
}

extension EventMessage: Codable {
    private enum EnvelopeKeys: String, CodingKey {
        case schema, event
    }

    /// The peer has another version.
    private struct UnknownSchema: Error, CustomStringConvertible {
        let schema: Int

        var description: String {
            "the daemon uses schema \(schema) of the control API, this is made for \(ControlAPI.schema); "
                + "install the same version of both"
        }
    }

    package init(from decoder: any Decoder) throws {
        let envelope = try decoder.container(keyedBy: EnvelopeKeys.self)
        let schema = try envelope.decode(Int.self, forKey: .schema)
        guard schema == ControlAPI.schema else { throw UnknownSchema(schema: schema) }
        let name = try envelope.decode(String.self, forKey: .event)
        self =
            switch Name(rawValue: name) {
            case .handler: .handler(try Handler(from: decoder))
            case .wake: .wake(try Wake(from: decoder))
            case .call: .call(try CallChange(from: decoder))
            case .action: .action(try Action(from: decoder))
            case .pushIgnored: .pushIgnored(try PushIgnored(from: decoder))
            case .pushRequest: .pushRequest(try PushRequest(from: decoder))
            case .pushWaiting: .pushWaiting(try PushWaiting(from: decoder))
            case .strike: .strike(try Strike(from: decoder))
            case .struckOut: .struckOut(try StruckOut(from: decoder))
            case .restricted: .restricted(try Restricted(from: decoder))
            case .missed: .missed(try Missed(from: decoder))
            case .cellular: .cellular(try Cellular(from: decoder))
            case .audioActivated: .audioActivated(try AudioActivated(from: decoder))
            case .audioDeactivated: .audioDeactivated(try AudioDeactivated(from: decoder))
            case .audioFailed: .audioFailed(try AudioFailed(from: decoder))
            case .audioRouteChanged: .audioRouteChanged(try AudioRouteChanged(from: decoder))
            case .path: .path(try Path(from: decoder))
            case .connection: .connection(try Connection(from: decoder))
            case .credentials: .credentials(try Credentials(from: decoder))
            case .linkReset: .linkReset(try LinkReset(from: decoder))
            case .reload: .reload(Reload())
            case .stateDropped: .stateDropped(try StateDropped(from: decoder))
            case .protectedData: .protectedData(try ProtectedData(from: decoder))
            case .restrictions: .restrictions(try Restrictions(from: decoder))
            case .telephony: .telephony(try Telephony(from: decoder))
            case nil: .unknown(name)
            }
    }

    package func encode(to encoder: any Encoder) throws {
        var envelope = encoder.container(keyedBy: EnvelopeKeys.self)
        try envelope.encode(ControlAPI.schema, forKey: .schema)
        try envelope.encode(name, forKey: .event)
        try content?.encode(to: encoder)
    }
}

/// The members of one event, except `schema` and `event`.
package protocol EventContent: Codable, Equatable, Sendable {
    /// The name of the event.
    static var name: EventMessage.Name { get }
    /// The names of the members in JSON.
    associatedtype CodingKeys: CodingKey & CaseIterable
}

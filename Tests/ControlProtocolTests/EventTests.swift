import ControlProtocol
import FoundationEssentials
import Testing

@Suite("The events of the control API")
struct EventTests {
    /// The names of an event's members in JSON. The compiler wants a line for each event.
    private static func keys(_ name: EventMessage.Name) -> Set<String> {
        switch name {
        case .handler: keys(EventMessage.Handler.self)
        case .wake: keys(EventMessage.Wake.self)
        case .call: keys(EventMessage.CallChange.self)
        case .action: keys(EventMessage.Action.self)
        case .pushIgnored: keys(EventMessage.PushIgnored.self)
        case .pushRequest: keys(EventMessage.PushRequest.self)
        case .pushWaiting: keys(EventMessage.PushWaiting.self)
        case .strike: keys(EventMessage.Strike.self)
        case .struckOut: keys(EventMessage.StruckOut.self)
        case .restricted: keys(EventMessage.Restricted.self)
        case .missed: keys(EventMessage.Missed.self)
        case .cellular: keys(EventMessage.Cellular.self)
        case .audioActivated: keys(EventMessage.AudioActivated.self)
        case .audioDeactivated: keys(EventMessage.AudioDeactivated.self)
        case .audioFailed: keys(EventMessage.AudioFailed.self)
        case .audioRouteChanged: keys(EventMessage.AudioRouteChanged.self)
        case .path: keys(EventMessage.Path.self)
        case .connection: keys(EventMessage.Connection.self)
        case .credentials: keys(EventMessage.Credentials.self)
        case .linkReset: keys(EventMessage.LinkReset.self)
        case .reload: keys(EventMessage.Reload.self)
        case .stateDropped: keys(EventMessage.StateDropped.self)
        case .protectedData: keys(EventMessage.ProtectedData.self)
        case .restrictions: keys(EventMessage.Restrictions.self)
        case .telephony: keys(EventMessage.Telephony.self)
        }
    }

    private static func keys<Content: EventContent>(_: Content.Type) -> Set<String> {
        Set(Content.CodingKeys.allCases.map(\.stringValue) + ["schema", "event"])
    }

    /// The name of an event's schema in the description: `CallEvent`.
    private static func schema(_ name: String) -> String { name.prefix(1).uppercased() + name.dropFirst() + "Event" }

    @Test("The description has every event, by its name, and no other")
    func described() throws {
        let message = try Description.schema("EventMessage")
        let names = EventMessage.Name.allCases.map(\.rawValue)
        let mapping = message.matches(of: /\n {10}([A-Za-z]+): "#\/components\/schemas\/([A-Za-z]+)"/)
        #expect(mapping.map { String($0.1) } == names)
        #expect(mapping.map { String($0.2) } == names.map(Self.schema))
        let oneOf = message.matches(of: /\n {8}- \{\$ref: "#\/components\/schemas\/([A-Za-z]+)"\}/)
        #expect(oneOf.map { String($0.1) } == names.map(Self.schema))
    }

    @Test("The description has exactly the members of each event", arguments: EventMessage.Name.allCases)
    func members(_ name: EventMessage.Name) throws {
        let schema = try Description.schema(Self.schema(name.rawValue))
        let properties = try #require(schema.split(separator: "\n      properties:\n").last)
        let members = properties.matches(of: /(?m)^ {8}([A-Za-z]+):/).map { String($0.1) }
        #expect(members.count == Set(members).count)
        #expect(Set(members) == Self.keys(name))
        #expect(schema.contains("\n        event: {const: \(name.rawValue)}\n"))
    }

    @Test("What is written is what is read", arguments: EventSamples.events.map(\.path))
    func roundTrip(path: String) throws {
        let event = try #require(EventSamples.events.first { $0.path == path }?.event)
        let read = try JSONDecoder().decode(EventMessage.self, from: Data(controlJSON(event)))
        #expect(read == event)
    }

    @Test("Every event but the one with a payload has a sample")
    func samples() {
        let names = Set(EventSamples.events.map(\.event.name))
        #expect(names == Set(EventMessage.Name.allCases.map(\.rawValue)).subtracting(["wake"]))
    }

    @Test("An event of a later version is kept as unknown")
    func unknown() throws {
        let line = #"{"app":"a.b","event":"aurora","schema":1}"#
        let event = try JSONDecoder().decode(EventMessage.self, from: Data(line.utf8))
        #expect(event == .unknown("aurora"))
        #expect(event.name == "aurora")
    }
}

/// `Documentation/control-api.yaml`, as far as these tests read it: a schema is a block of lines.
enum Description {
    private static let file: String = {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        return parts.joined(separator: "/") + "/Documentation/control-api.yaml"
    }()

    /// The lines of a schema under `components`.
    static func schema(_ name: String) throws -> String {
        let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
        let rest = try #require(text.split(separator: "\n    \(name):\n", maxSplits: 1).dropFirst().first, "no \(name)")
        return "\n" + rest.prefix(upTo: rest.firstMatch(of: /\n {2,4}[A-Za-z]/)?.range.lowerBound ?? rest.endIndex)
            + "\n"
    }
}

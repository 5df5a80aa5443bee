@testable import ControlProtocol
import FoundationEssentials
import Testing

/// Clients in every language read these; a change that breaks one of these tests breaks them.
@Suite("The JSON of the control API")
struct MessageShapeTests {
    /// The fixtures' folder, beside the tests.
    private static let fixtures: String = {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
        return parts.joined(separator: "/") + "/Fixtures/control-api"
    }()

    private func json(_ message: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(message), as: UTF8.self)
    }

    @Test("Every message has the very bytes that it had", arguments: MessageSamples.all.map(\.path))
    func frozen(path: String) throws {
        let sample = try #require(MessageSamples.all.first { $0.path == path })
        let fixture = try Data(contentsOf: URL(filePath: "\(Self.fixtures)/\(path).json"))
        #expect(try json(sample.message) + "\n" == String(decoding: fixture, as: UTF8.self))
    }

    @Test("No two samples share a fixture, and no fixture is without a sample")
    func fixturesAndSamples() throws {
        let paths = MessageSamples.all.map(\.path)
        #expect(Set(paths).count == paths.count)
        let list = { (folder: String) in try FileManager.default.contentsOfDirectory(atPath: folder) }
        // What waits for a handler is written by the daemon, and frozen by its tests.
        let folders = try list(Self.fixtures).filter { $0 != "WaitingMessage" }
        let files = try folders.flatMap { folder in try list("\(Self.fixtures)/\(folder)").map { "\(folder)/\($0)" } }
        #expect(Set(files) == Set(paths.map { $0 + ".json" }))
    }

    @Test("What is written is what is read")
    func roundTrips() throws {
        func read<Message: Codable & Equatable>(_ message: Message) throws -> Bool {
            try JSONDecoder().decode(Message.self, from: Data(try json(message).utf8)) == message
        }
        #expect(try read(MessageSamples.ringing))
        #expect(try read(CallListMessage(calls: [MessageSamples.missed], next: 1, incomplete: "why")))
        #expect(try read(PushListMessage(pushes: [MessageSamples.started], next: 2)))
        #expect(
            try read(
                MessageSamples.status(
                    .init(file: "/f", state: "failing", why: "w", sinceMs: 1, pushes: 2, calls: 3, bytes: 4))))
        #expect(try read(CallSamples.held))
        #expect(try read(CallSamples.restricted))
        #expect(try read(DeviceSamples.struckOut))
        #expect(try read(DeviceSamples.status))
        #expect(try read(ScreeningSamples.scheduled))
        #expect(try read(ScreeningSamples.change))
        #expect(try read(ScreeningSamples.restrictions))
        #expect(try read(CallerListsMessage(lists: [ScreeningSamples.imported])))
        #expect(try read(ScreeningSamples.entries))
        #expect(try read(ScreeningSamples.blocked))
        #expect(try read(LinkSamples.gateway))
        #expect(try read(LinkSamples.devices))
        #expect(try read(LinkSamples.invitation))
        #expect(try read(LinkSamples.linked))
        #expect(try read(LinkSamples.ended))
        #expect(try read(LinkSamples.pairing))
        #expect(try read(TargetListMessage(targets: [NetworkSamples.reachable, NetworkSamples.unreachable])))
    }

    @Test("What reads lines of reachability finds the same members in each, null where there is nothing")
    func sameMembers() throws {
        func members(_ message: some Encodable) throws -> [String] {
            let text = try json(message)
            return text.matches(of: /"([A-Za-z0-9]+)":/).map { String($0.1) }
        }
        #expect(try members(NetworkSamples.reachable) == members(NetworkSamples.unreachable))
        #expect(
            try members(NetworkSamples.reachable) == [
                "addresses", "flags", "gateway", "interface", "interfaceType", "isConstrained", "isExpensive",
                "reachable", "reason", "resolvedAt", "schema", "source", "status", "supportsDNS", "supportsIPv4",
                "supportsIPv6", "target",
            ])
        // A stranger learns no address, and not when somebody asked for one.
        let told = NetworkSamples.reachable.withoutAddresses
        #expect(told.addresses == nil && told.resolvedAt == nil && told.source == nil && told.gateway == nil)
        #expect(try members(told) == members(NetworkSamples.reachable))
        let path = try members(NetworkSamples.path).filter { !["index", "name", "type"].contains($0) }
        #expect(try path == members(NetworkSamples.noPath))
    }

    @Test("Every member of a request's body may be left out where it has a default")
    func requests() throws {
        #expect(try JSONDecoder().decode(CallReport.self, from: Data("{}".utf8)) == CallReport())
        #expect(try JSONDecoder().decode(CallEnding.self, from: Data("{}".utf8)) == CallEnding())
        #expect(try JSONDecoder().decode(CallAnswer.self, from: Data("{}".utf8)) == CallAnswer())
        #expect(try JSONDecoder().decode(DoNotDisturbChange.self, from: Data("{}".utf8)) == DoNotDisturbChange())
        #expect(try JSONDecoder().decode(CallerListChange.self, from: Data("{}".utf8)) == CallerListChange())
        #expect(throws: (any Error).self) { try JSONDecoder().decode(CallDigits.self, from: Data("{}".utf8)) }
        #expect(throws: (any Error).self) { try JSONDecoder().decode(ActionResult.self, from: Data("{}".utf8)) }
    }

    @Test("The verbs of handlers and of users are told apart")
    func verbs() {
        let handlers = CallVerb.allCases.filter(\.isHandlers).map(\.rawValue)
        #expect(
            handlers == [
                "report", "ring", "update", "fulfill", "fail", "ended", "connecting", "connected", "audio", "claim",
            ])
    }

    @Test("Seven states of a push are final")
    func finalStates() {
        let final = PushMessage.State.allCases.filter(\.isFinal).map(\.rawValue)
        #expect(final == ["ended", "expired", "missed", "cancelled", "restricted", "withheld", "replaced"])
    }
}

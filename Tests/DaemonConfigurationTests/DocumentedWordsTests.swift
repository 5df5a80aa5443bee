import ControlProtocol
import HandlerActivation
import Reachability
import RingwakeCore
import Testing

@testable import DaemonConfiguration

@Suite("The documents know each word that the code knows, and no other")
nonisolated struct DocumentedWordsTests {
    /// The words of an enum that a document has to know.
    private static func words<Word: CaseIterable & RawRepresentable<String>>(_ type: Word.Type) -> Set<String> {
        Set(type.allCases.map(\.rawValue))
    }

    /// By schema, and by property where the words stand in one.
    private static let schemas: [(schema: String, property: String?, words: Set<String>)] = [
        ("Environment", nil, words(PushEnvironment.self)),
        ("EndReason", nil, words(CallEndReason.self)),
        (
            "CallEnding", "reason",
            Set(CallEndReason.reportable.union(CallEndReason.reportableOfOutgoing).map(\.rawValue))
        ),
        ("CallState", nil, words(CallStateMachine.State.Name.self)),
        ("CallAction", nil, words(CallAction.self)),
        ("CallAnswer", "others", words(OtherCalls.self)),
        ("RestrictionKind", nil, words(Restriction.Kind.self)),
        ("HandlerFailure", nil, words(HandlerFailure.self)),
        ("HandlerFeature", nil, words(HandlerFeature.self)),
        ("ListKind", nil, words(CallerListKind.self)),
        ("Hop", "stage", words(TimelineEntry.Stage.self)),
        ("NetworkStatus", nil, words(NetworkPath.Status.self)),
        ("UnsatisfiedReason", nil, words(UnsatisfiedReason.self)),
        ("ConnectionReason", nil, words(UnsatisfiedReason.self).union(words(ConnectionStatus.Why.self))),
        ("ConnectionState", nil, words(ConnectionStatus.State.self)),
        ("InterfaceType", nil, words(NetworkInterface.InterfaceType.self)),
        ("CallMessage", "ringer", words(CallRinger.self)),
        ("PushMessage", "outcome", words(PushOutcome.self)),
        ("PushMessage", "state", words(PushMessage.State.self)),
        ("AppMessage", "instances", words(HandlerInstances.self)),
        ("ErrorMessage", "error", Set(RingwakeError.Code.all.map(\.slug))),
        ("AudioCategory", nil, words(AudioCategory.self)),
        ("AudioMode", nil, words(AudioMode.self)),
        ("AudioOption", nil, words(AudioOption.self)),
        ("AudioErrorCode", nil, words(AudioSessionError.Code.self)),
        ("AudioPort", "kind", words(AudioPort.Kind.self)),
        ("AudioBackend", nil, words(AudioSettings.Backend.self)),
        ("StatusMessage", "role", words(DaemonRole.self)),
        ("GatewayMessage", "admission", words(GatewaySettings.Admission.self)),
        ("PushReceiptMessage", "state", words(PushMessage.State.self).union(["forwarded", "queued", "dropped"])),
        ("LinkReset", "mode", words(LinkSettings.ResetMode.self)),
        ("LinkMessage", "state", words(LinkMessage.State.self)),
        ("AudioSessionMessage", "state", words(AudioSessionState.self)),
    ]

    @Test("Each list of words in control-api.yaml")
    func openAPI() throws {
        let api = "Documentation/control-api.yaml"
        let lines = try document(api).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for (schema, property, words) in Self.schemas {
            let place = schema + (property.map { ".\($0)" } ?? "")
            guard let listed = Self.list(lines, schema, property) else {
                Issue.record("\(api): \(place) has no list of words")
                continue
            }
            for word in words.subtracting(listed) { Issue.record("\(api): \(place) lacks '\(word)'") }
            for word in listed.subtracting(words) { Issue.record("\(api): \(place) has '\(word)', which is no word") }
        }
    }

    /// The words of the first `enum: […]` of a schema, or of a property in it; without null.
    private static func list(_ lines: [String], _ schema: String, _ property: String?) -> Set<String>? {
        var rest = lines.drop { $0 != "    \(schema):" }.dropFirst().prefix {
            !$0.hasPrefix("    ") || $0.hasPrefix("     ")
        }
        if let property {
            rest = rest.drop { !$0.drop { $0 == " " }.hasPrefix("\(property):") }
        }
        let text = rest.joined(separator: " ")
        guard let start = text.firstRange(of: "enum: [") else { return nil }
        let list = text[start.upperBound...].prefix { $0 != "]" }
        return Set(list.split { " ,\"".contains($0) }.map(String.init)).subtracting(["null"])
    }

    @Test("Each verb of calls has its path in control-api.yaml, and there is no other")
    func verbs() throws {
        let api = "Documentation/control-api.yaml"
        let start = "  /v1/calls/{call}/"
        let paths = try document(api).split(separator: "\n").filter { $0.hasPrefix(start) }
        #expect(Set(paths.map { String($0.dropFirst(start.count).dropLast()) }) == Self.words(CallVerb.self), "\(api)")
    }

    @Test(
        "Each word in the manual pages that list it",
        arguments: [
            ("ringwake.1", words(CallVerb.self).subtracting(["audio"])), ("ringwake.1", words(CallAction.self)),
            ("ringwake.1", Set(CallEndReason.reportable.map(\.rawValue))),
            ("ringwake.1", words(PushMessage.State.self)),
            ("ringwake-handler.7", words(CallAction.self)),
            ("ringwake-handler.7", Set(CallEndReason.reportable.map(\.rawValue))),
            ("ringwake-handler.7", words(AudioRouteChangeReason.self)),
            ("ringwake-handler.7", words(ConnectionStatus.State.self)),
            ("ringwake-handler.7", words(NetworkPath.Status.self)),
        ])
    func manualPages(page: String, words: Set<String>) throws {
        let known = Set(try document("deploy/man/\(page)").split { !($0.isLetter || $0.isNumber) }.map(String.init))
        for word in words.subtracting(known) { Issue.record("deploy/man/\(page): '\(word)' is missing") }
    }
}

import CallService
import Reachability
import RingwakeCore
import Testing

@testable import RingwakeDaemon

@Suite("The destinations that a request asks about")
struct TargetRequestTests {
    private func targets(_ texts: [String]) throws -> [String] {
        let items = texts.map { (name: "target", value: $0) } + [("watch", "true")]
        return try ServiceRequest(
            method: "GET", target: "/v1/reachability", parts: ["reachability"], items: items, caller: .owner
        ).targets().map(\.description)
    }

    @Test("Targets are in the order that they are asked for, each once; none is any")
    func targets() throws {
        #expect(try targets([]) == ["any"])
        #expect(
            try targets(["SIP.example.org", "192.0.2.1", "0.0.0.0", "192.0.2.1", "any"]) == [
                "sip.example.org", "192.0.2.1", "any",
            ])
    }

    @Test("What is no target is refused with what one is, and so are more than 64", arguments: ["", "a b", "http://x"])
    func badTargets(text: String) throws {
        let error = #expect(throws: RingwakeError.self) { try targets([text]) }
        #expect(error?.code == .invalidRequest && error?.message.contains("LOCAL,REMOTE") == true)
        #expect(try targets((0..<64).map { "192.0.2.\($0)" }).count == 64)
        let tooMany = #expect(throws: RingwakeError.self) { try targets((0..<65).map { "192.0.2.\($0)" }) }
        #expect(tooMany?.code == .invalidRequest && tooMany?.message.contains("64") == true)
    }
}

import Testing

@testable import ControlProtocol

@Suite("Versions of the daemon and of RingwakeKit")
struct PeerVersionTests {
    @Test("what one side sends is what the other reads")
    func roundTrip() {
        #expect(PeerVersion(userAgent: PeerVersion.own.userAgent) == .own)
        let plain = PeerVersion(version: "1.2.3-beta.1+x", features: [])
        #expect(PeerVersion(userAgent: plain.userAgent) == plain)
    }

    @Test("each side names what the other lacks")
    func missing() {
        let other = PeerVersion(version: "9.0.0", features: ["claim", "teleport"])
        #expect(other.missing(in: .own) == ["teleport"])
        #expect(PeerVersion.own.missing(in: other) == PeerVersion.own.features.filter { $0 != "claim" })
    }

    @Test("names come sorted and once", arguments: ["(b; a; b)", "(b;a;b)", "( b;; a ;;b)"])
    func sorted(comment: String) {
        let read = PeerVersion(userAgent: "RingwakeKit/1.0.0 \(comment)")
        #expect(read?.features == (comment.contains("a ") ? ["b"] : ["a", "b"]))
    }

    @Test(
        "another program, or something that is no version",
        arguments: [
            "", "curl/8.0", "RingwakeKit/", "RingwakeKit/1", "RingwakeKit/1 ", "RingwakeKit/1 (", "RingwakeKit/1 )",
            "RingwakeKit/\u{1b}[2J (a)", "RingwakeKit/\(String(repeating: "1", count: 33)) (a)", "RingwakeKit/1\n (a)",
        ])
    func others(text: String) {
        #expect(PeerVersion(userAgent: text) == nil)
    }

    @Test("what is no name is left out, and there is a limit")
    func bounds() throws {
        let odd = try #require(
            PeerVersion(userAgent: "RingwakeKit/1 (a; \u{1b}[31m; \(String(repeating: "b", count: 33)); c)"))
        #expect(odd.features == ["a", "c"])
        let many = try #require(
            PeerVersion(userAgent: "RingwakeKit/1 (\((0..<5000).map { "f\($0)" }.joined(separator: ";")))"))
        #expect(many.features.count <= 64)
    }
}

import ControlProtocol
import Testing

@Suite("The target of a control request")
struct ControlPathTests {
    @Test("Parts and query are percent-decoded; an escaped slash stays within its part")
    func decoding() throws {
        let path = try #require(ControlPath("/v1/calls/a%2Fb%20c/answer?app=com.example.phone&call=%C3%A9&x"))
        #expect(path.parts == ["v1", "calls", "a/b c", "answer"])
        #expect(path.query == ["app": "com.example.phone", "call": "é", "x": ""])
    }

    @Test("Of a repeated name the first counts, and all are there in their order")
    func repeatedName() {
        let path = ControlPath("/v1/events?app=a&call=%C3%A9&app=b")
        #expect(path?.query == ["app": "a", "call": "é"])
        #expect(path?.items.map(\.name) == ["app", "call", "app"])
        #expect(path?.items.map(\.value) == ["a", "é", "b"])
    }

    @Test(
        "What is no path is nil",
        arguments: ["", "v1", "http://localhost/v1", "/%", "/%1", "/%zz", "/%ff", "/a?%=1", "/a?b=%c3", "*"])
    func refused(target: String) {
        #expect(ControlPath(target) == nil)
    }
}

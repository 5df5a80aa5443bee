import Testing

@testable import RingwakeKit

@Suite("The document that an app's objects are stored in: what the app no longer understands costs nothing else")
struct SavedDocumentTests {
    private struct Window: Codable, Sendable, Equatable {
        var title: String
    }

    private struct OpenCall: Codable, Sendable, Equatable {
        var peer: String
        var since: Int
    }

    /// The class after a change that old data doesn't fit.
    private struct NewCall: Codable, Sendable, Equatable {
        var peer: String
        var codec: String
    }

    private let classes: [RestorationClass] = [.init("window", Window.self), .init("call", OpenCall.self)]
    private let objects: [String: any Codable & Sendable] = [
        "main": Window(title: "Phone"), "call 1": OpenCall(peer: "sip:a@b", since: 5),
        "call 2": OpenCall(peer: "c", since: 6),
    ]

    private func read(
        _ bytes: [UInt8], _ classes: [RestorationClass]? = nil, knowing isKnown: (String) -> Bool = { _ in true }
    ) throws -> RestoredObjects {
        try SavedDocument.decode(bytes, classes ?? self.classes, knowing: isKnown)
    }

    private func left(_ objects: RestoredObjects) -> [String] { objects.leftOut.map(\.description) }

    @Test("What is stored comes back, by identifier and by type; the bytes are frozen")
    func roundTrip() throws {
        let bytes = try SavedDocument.encode(objects, classes, version: 3)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"objects":{"call 1":{"class":"call","data":{"peer":"sip:a@b","since":5}},"#
                + #""call 2":{"class":"call","data":{"peer":"c","since":6}},"#
                + #""main":{"class":"window","data":{"title":"Phone"}}},"schema":1,"version":3}"#)
        let restored = try read(bytes)
        #expect(restored.version == 3 && restored.leftOut.isEmpty)
        #expect(restored.identifiers == ["call 1", "call 2", "main"])
        #expect(restored.object("main") == Window(title: "Phone"))
        #expect(restored.object("main", as: OpenCall.self) == nil && restored.object("x", as: Window.self) == nil)
        #expect(restored.objects(of: OpenCall.self).mapValues(\.since) == ["call 1": 5, "call 2": 6])
    }

    @Test("An object whose class is gone is left out, and the rest is there")
    func classGone() throws {
        let restored = try read(SavedDocument.encode(objects, classes, version: 1), [.init("window", Window.self)])
        #expect(left(restored) == ["call 1 (call): unknownClass", "call 2 (call): unknownClass"])
        #expect(restored.object("main") == Window(title: "Phone"))
    }

    @Test("An object whose identifier is gone is left out, and the rest is there")
    func identifierGone() throws {
        let bytes = try SavedDocument.encode(objects, classes, version: 1)
        let restored = try read(bytes, knowing: { $0 != "call 2" })
        #expect(left(restored) == ["call 2 (call): unknownIdentifier"] && restored.identifiers == ["call 1", "main"])
    }

    @Test("An object that its class can't decode any more is left out, and the rest is there")
    func changed() throws {
        let now: [RestorationClass] = [.init("window", Window.self), .init("call", NewCall.self)]
        let restored = try read(SavedDocument.encode(objects, classes, version: 1), now)
        #expect(left(restored) == ["call 1 (call): undecodable", "call 2 (call): undecodable"])
        #expect(restored.identifiers == ["main"])
    }

    @Test("A renamed type is the same class")
    func renamed() throws {
        struct Renamed: Codable, Sendable, Equatable { var title: String }
        let restored = try read(
            SavedDocument.encode(["main": Window(title: "a")], classes, version: 1), [.init("window", Renamed.self)])
        #expect(restored.object("main") == Renamed(title: "a"))
    }

    @Test("An entry that is no object is left out alone")
    func strangeEntries() throws {
        let text =
            #"{"objects":{"a":5,"b":{},"c":{"class":"window"},"d":{"class":"window","data":{"title":"t"}}},"#
            + #""schema":1,"version":1,"later":true}"#
        let restored = try read(Array(text.utf8))
        #expect(left(restored) == ["a (): unknownClass", "b (): unknownClass", "c (window): undecodable"])
        #expect(restored.object("d") == Window(title: "t"))
    }

    @Test(
        "Something else, and a later layout, is an error and not an empty state",
        arguments: [
            "", "x", "{}", "[]", #"{"objects":{},"schema":2,"version":1}"#, #"{"objects":[],"schema":1,"version":1}"#,
        ])
    func foreign(text: String) {
        let error = #expect(throws: RingwakeKitError.self) { try read(Array(text.utf8)) }
        #expect(error?.code == .badAnswer)
    }

    @Test("An object of no class, one that can't be encoded, and too much are refused")
    func refused() {
        func refusal(_ objects: [String: any Codable & Sendable]) -> RingwakeKitError.Code? {
            let all = classes + [.init("number", Double.self)]
            return #expect(throws: RingwakeKitError.self) { try SavedDocument.encode(objects, all, version: 1) }?.code
        }
        #expect(refusal(["a": "text"]) == .invalidRequest)
        #expect(refusal(["a": Double.nan]) == .invalidRequest)
        #expect(refusal(["a": Window(title: String(repeating: "x", count: 64 << 10))]) == .limitReached)
    }
}

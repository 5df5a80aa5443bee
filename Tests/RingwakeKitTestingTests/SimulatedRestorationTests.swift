import RingwakeKit
import RingwakeKitTesting
import Testing

@Suite("An app restores its objects from a simulated daemon", .timeLimit(.minutes(10)))
struct SimulatedRestorationTests {
    private struct Note: Codable, Sendable, Equatable {
        var text: String
    }

    private func restoration(_ client: RingwakeClient) throws -> StateRestoration {
        try StateRestoration(client: client, classes: [.init("note", Note.self)])
    }

    private func notes(_ restoration: StateRestoration) async throws -> [String: Note] {
        var found: [String: Note] = [:]
        try await restoration.restore { found = $0.objects() }
        return found
    }

    @Test("What it saves comes back after a restart of the daemon; what it clears doesn't")
    func savesAndClears() async throws {
        let daemon = try SimulatedDaemon(app: "com.example.phone")
        let client = try RingwakeClient(daemon)
        let restoration = try restoration(client)
        #expect(try await notes(restoration).isEmpty)
        try await restoration.save(["a": Note(text: "1")])
        daemon.restart()
        #expect(try await notes(restoration) == ["a": Note(text: "1")])
        try await restoration.clear()
        #expect(try await notes(restoration).isEmpty)
        client.close()
    }

    @Test("A handler that crashes while it restores finds its state once more, and then none")
    func crashes() async throws {
        var settings = SimulatedDaemon.Settings()
        settings.isOwner = false
        let daemon = try SimulatedDaemon(app: "com.example.phone", settings: settings)

        /// One process of the handler. Too many that leave their call would strike the app out.
        func life(
            _ call: Call.ID, status: Int32, ends: Bool = true, _ body: (StateRestoration) async throws -> Void
        ) async throws {
            daemon.push(call)
            let start = try await daemon.nextStart()
            let client = try RingwakeClient(daemon, started: start)
            try await body(try restoration(client))
            if ends { try await CallProvider(client: client).reportCall(with: call, endReason: .failed) }
            client.close()
            daemon.exited(start, status: status)
        }

        /// It ends in the middle of it.
        func crash(_ call: Call.ID) async throws -> [String: Note] {
            var found: [String: Note] = [:]
            try await life(call, status: 1, ends: false) { restoration in
                struct Crash: Error {}
                do {
                    try await restoration.restore { objects in
                        found = objects.objects()
                        throw Crash()
                    }
                } catch is Crash {}
            }
            return found
        }

        try await life("c1", status: 0) { try await $0.save(["a": Note(text: "1")]) }
        #expect(try await crash("c2").count == 1)
        // One that gets through it in between starts the count again, even if it crashes later.
        try await life("c3", status: 1) { _ = try await notes($0) }
        #expect(try await crash("c4").count == 1)
        daemon.restart()
        #expect(try await crash("c5").count == 1)
        var left = 1
        try await life("c6", status: 0) { left = try await notes($0).count }
        #expect(left == 0)
    }

    @Test("An app that may not store anything is told")
    func refused() async throws {
        var settings = SimulatedDaemon.Settings()
        settings.keepsState = false
        let client = try RingwakeClient(try SimulatedDaemon(app: "com.example.phone", settings: settings))
        let restoration = try restoration(client)
        let error = await #expect(throws: RingwakeKitError.self) { try await restoration.save([:]) }
        #expect(error?.code == .notPermitted)
        #expect(throws: RingwakeKitError.self) {
            try StateRestoration(client: client, classes: [.init("a", Note.self), .init("a", Int.self)])
        }
        client.close()
    }
}

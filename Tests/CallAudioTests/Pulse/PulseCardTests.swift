@testable import CallAudio
import RingwakeCore
import RunLoop
import Testing

/// A Bluetooth headset's profile, on an imitated server: null sinks have none.
@Suite(.serialized, .withAudioServers)
struct PulseCardTests {
    private func connected(_ behaviour: CardServerScript.Behaviour) throws -> ImitatedServer {
        let server = try ImitatedServer(behaviour)
        server.client.server.connect()
        try #require(server.runLoop.drive { server.client.image != nil }, "\(server.client.names)")
        return server
    }

    @Test(
        "The profile changes, and the image has its devices when the command is done",
        arguments: [CardServerScript.Behaviour.prompt, .late])
    func changed(behaviour: CardServerScript.Behaviour) throws {
        let server = try connected(behaviour)
        defer { server.stop() }
        let client = server.client
        // The image must come, however slow the machine is.
        client.server.imageTimeout = .seconds(300)
        #expect(client.image?.cards[5]?.activeProfile == "a2dp_sink")
        #expect(client.image?.cards[5]?.profiles.count == 3)
        #expect(client.image?.sinks.values.map(\.name) == ["bluez_sink.a2dp_sink"])
        client.forgetEvents()
        #expect(try client.perform(.set(.profile(card: "bluez_card"), .name("headset_head_unit"))) == [nil])
        let name = behaviour == .late ? "headset_head_unit-cvsd" : "headset_head_unit"
        let image = try #require(client.image)
        #expect(image.cards[5]?.activeProfile == name)
        #expect(image.sinks.values.map(\.name) == ["bluez_sink." + name])
        #expect(image.sources.values.map(\.name) == ["bluez_source." + name])
        #expect(image.defaultSink == "bluez_sink." + name)
        server.runLoop.drive(for: .milliseconds(50))
        // Of eight events: nothing is put off while somebody waits.
        #expect(client.names.count <= 5, "\(client.names)")
        client.server.close()
    }

    @Test("A refused profile is a failure, and the image shows what has become of the card")
    func refused() throws {
        let server = try connected(.refuse)
        defer { server.stop() }
        let client = server.client
        #expect(
            try client.perform(.set(.profile(card: "bluez_card"), .name("headset_head_unit"))).map { $0?.kind } == [
                .refused
            ])
        #expect(client.image?.cards[5]?.activeProfile == "off")
        #expect(client.image?.sinks.isEmpty == true)
        client.server.close()
    }

    @Test("A profile that the server says yes to and does not take is a failure too, in a bounded time")
    func never() throws {
        let server = try connected(.never)
        defer { server.stop() }
        let client = server.client
        let failures = try client.perform(
            .set(.profile(card: "bluez_card"), .name("headset_head_unit")),
            .set(.defaultSink, .name("bluez_sink.a2dp_sink")))
        #expect(failures.map { $0?.kind } == [.refused, nil])
        #expect(client.image?.cards[5]?.activeProfile == "a2dp_sink")
        client.server.close()
    }
}

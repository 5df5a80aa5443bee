import RingwakeCore
import Testing

@testable import CallAudio

/// Whose a stream is, where it does not say so itself.
struct PulseClientsTests {
    /// We are client 1, over a translating process that is 50.
    private static let table: [UInt32: PulseClients.Client] = [
        1: .init(index: 1, process: 10, peer: 50),
        2: .init(index: 2, process: 20, peer: 50),
        3: .init(index: 3, process: nil, peer: 30),
        4: .init(index: 4, process: nil, peer: 50),
        5: .init(index: 5, process: 60, peer: 61),
        6: .init(index: 6, process: nil, peer: nil),
    ]

    private func process(_ own: Int32?, client: UInt32?, ownIndex: UInt32? = 1) -> Int32? {
        var clients = PulseClients()
        clients.known = Self.table
        var image = AudioServerImage.notebook()
        image.play(7, process: own, client: client)
        image.record(8, process: own)
        image.recording[8]?.client = client
        let resolved = clients.resolving(image, ownIndex: ownIndex)
        #expect(resolved.playing[7]?.process == resolved.recording[8]?.process)
        return resolved.playing[7]?.process
    }

    @Test("What the stream says goes first, then what its client says, then what the kernel says")
    func order() {
        #expect(process(99, client: 5) == 99)
        #expect(process(nil, client: 5) == 60)
        #expect(process(nil, client: 2) == 20)
        #expect(process(nil, client: 3) == 30)
    }

    @Test("The process that translates for a client is not the client's, and nobody's where it is not known")
    func translator() {
        #expect(process(nil, client: 4) == nil)
        #expect(process(nil, client: 3, ownIndex: nil) == nil)
        #expect(process(nil, client: 3, ownIndex: 6) == nil)
        #expect(process(nil, client: 2, ownIndex: nil) == 20)
    }

    @Test("Without a client, with one that is not known or that is nothing but one, there is no process")
    func unknown() {
        #expect(process(nil, client: nil) == nil)
        #expect(process(nil, client: 77) == nil)
        #expect(process(nil, client: 6) == nil)
    }

    @Test("A client that has left is known until its last stream is gone")
    func left() {
        var clients = PulseClients()
        clients.known = Self.table
        var image = AudioServerImage.notebook()
        image.play(7, process: nil, client: 3)
        clients.remove(2)
        clients.remove(3)
        clients.note(image)
        #expect(clients.known[2] == nil)
        #expect(clients.awaited == [3])
        #expect(clients.resolving(image, ownIndex: 1).playing[7]?.process == 30)
        image.playing[7] = nil
        clients.note(image)
        #expect(clients.known[3] == nil)
        #expect(clients.awaited.isEmpty)
    }
}

@testable import CallAudio
import RunLoop
import Testing

/// A `PulseServer` on a server under test, with all that it has told.
final class PulseClient {
    let server: PulseServer
    let runLoop: RunLoop
    private(set) var events: [AudioServerEvent] = []

    init(_ runLoop: RunLoop, _ address: PulseAddress) {
        self.runLoop = runLoop
        server = PulseServer(runLoop: runLoop, address: address, name: "test")
        server.onEvent = { [weak self] in self?.events.append($0) }
    }

    /// Connects, and returns when it is.
    convenience init(_ server: AudioServerUnderTest) throws {
        self.init(server.runLoop, server.address)
        self.server.connect()
        try #require(server.runLoop.drive { image != nil }, "\(events.map(\.name))")
    }

    var image: AudioServerImage? { server.image }
    var names: [String] { events.map(\.name) }

    func forgetEvents() { events = [] }

    func note(_ event: AudioServerEvent) { events.append(event) }

    /// Turns the loop until the image is so.
    func wait(_ condition: (AudioServerImage) -> Bool) throws -> AudioServerImage {
        try #require(
            runLoop.drive { image.map(condition) ?? false }, "\(String(describing: image))")
        return try #require(image)
    }

    /// The stream that this process plays.
    func playing(_ program: TestProgram) throws -> AudioServerImage.Stream {
        let image = try wait { image in
            image.playing.values.contains {
                $0.process == program.pid && $0.device != nil && !$0.volume.isEmpty && !$0.isCorked
            }
        }
        return try #require(image.playing.values.first { $0.process == program.pid })
    }

    func recording(_ program: TestProgram) throws -> AudioServerImage.Stream {
        let image = try wait { $0.recording.values.contains { $0.process == program.pid && $0.device != nil } }
        return try #require(image.recording.values.first { $0.process == program.pid })
    }

    /// The failures of these commands, when all are done.
    func perform(_ commands: AudioServerCommand...) throws -> [AudioServerFailure?] {
        var result: [AudioServerFailure?]?
        server.perform(commands) { result = $0 }
        // Never from within the call itself.
        #expect(result == nil)
        try #require(runLoop.drive { result != nil })
        return try #require(result)
    }
}

extension AudioServerEvent {
    var name: String {
        switch self {
        case .connected: "connected"
        case .changed: "changed"
        case .unavailable(let reason): "unavailable: \(reason)"
        case .lost: "lost"
        }
    }
}

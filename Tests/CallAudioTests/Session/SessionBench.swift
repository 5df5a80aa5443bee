import CRingwakeLinux
import Glibc
import RunLoop
import Synchronization
import Testing

@testable import CallAudio

/// An audio server, and sessions of a program that has it.
final class SessionBench {
    let server: AudioServerUnderTest
    let service: SessionService

    var environment: [String: String] { Self.variables(server) }

    init(_ kind: AudioServerKind, isStarted: Bool = true) throws {
        server = try AudioServerUnderTest(kind, isStarted: isStarted)
        service = try SessionService(environment: Self.variables(server), address: server.address)
    }

    static func variables(_ server: AudioServerUnderTest) -> [String: String] {
        var variables: [String: String] = [:]
        for entry in server.environment {
            let parts = entry.split(separator: "=", maxSplits: 1)
            variables[String(parts[0])] = String(parts[1])
        }
        return variables
    }

    func session(_ name: String = "test") throws -> AudioSession { try AudioSession(name: name, service: service) }

    func stop() {
        service.close()
        server.stop()
    }

    /// Asks for it, and waits for the answer; again where the machine was so busy that the server was too slow.
    @discardableResult
    func set(
        _ session: AudioSession, active isActive: Bool, notifyOthers: Bool = false
    ) throws -> Result<AudioRoute, AudioSessionError> {
        for _ in 0..<20 {
            let result = try ask(session, active: isActive, notifyOthers: notifyOthers)
            guard case .failure(let error) = result, "\(error)".contains("has not answered within") else {
                return result
            }
        }
        return try ask(session, active: isActive, notifyOthers: notifyOthers)
    }

    private func ask(
        _ session: AudioSession, active isActive: Bool, notifyOthers: Bool
    ) throws -> Result<AudioRoute, AudioSessionError> {
        let box = Box<Result<AudioRoute, AudioSessionError>>()
        session.setActive(isActive, notifyOthers: notifyOthers) { box.put($0) }
        try #require(server.runLoop.drive { !box.values.isEmpty })
        #expect(box.values.count == 1)
        return try #require(box.values.first)
    }

    /// The volumes of everything that plays, as the server tells them.
    func volumes() throws -> [String] {
        try server.pactl("list", "sink-inputs").split(separator: "\n").filter { $0.contains("\tVolume:") }
            .map(String.init)
    }

    /// Music that plays, and its volume. It is no child of this process, whose sessions it would belong to; it ends when
    /// the server does.
    func music() throws -> [String] {
        try server.runToEnd([
            "/usr/bin/setsid", "--fork", "/usr/bin/sh", "-c",
            "exec pacat -s unix:\(server.socket) --playback --raw --property=media.role=music /dev/zero >/dev/null 2>&1",
        ])
        var found: [String] = []
        // pipewire-pulse announces a stream before it knows its volume.
        try #require(
            server.runLoop.drive {
                found = (try? volumes()) ?? []
                return found.count == 1 && found.allSatisfy { $0.contains("65536") }
            })
        return found
    }

    /// The journals that there are.
    func journals() -> [String] { EffectJournals.all(environment).filter { access($0, F_OK) == 0 } }
}

/// What came on another thread, in order.
final class Box<Value: Sendable>: Sendable {
    private let state = Mutex<[Value]>([])

    var values: [Value] { state.withLock { $0 } }

    func put(_ value: Value) { state.withLock { $0.append(value) } }
}

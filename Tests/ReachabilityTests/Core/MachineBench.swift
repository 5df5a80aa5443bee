import CRingwakeNetlink
import Glibc
import RunLoop
import Testing

@testable import Reachability

/// A machine over a scene, with the time in milliseconds.
struct MachineBench {
    let scene: Scene
    let ethernet: UInt32
    var machine: PathStateMachine

    init(nameServers: [String] = ["192.0.2.53"], hold: Duration = .milliseconds(200)) throws {
        (scene, ethernet) = try Scene.office()
        var configuration = ReachabilityConfiguration()
        configuration.lossHold = hold
        machine = PathStateMachine(
            configuration: configuration, nameServers: try nameServers.map { try #require(IPAddress($0)) })
    }

    mutating func handle(_ event: PathStateMachine.Event, at milliseconds: Int64 = 0) -> [PathStateMachine.Effect] {
        machine.handle(
            event, at: BootClock.Instant(nanoseconds: milliseconds * 1_000_000), asking: scene.kernel)
    }

    /// As the driver does: attaches every filter that is asked for. What was told.
    mutating func settle(_ event: PathStateMachine.Event, at milliseconds: Int64 = 0) -> [PathStateMachine.Effect] {
        var told: [PathStateMachine.Effect] = []
        var next: PathStateMachine.Event? = event
        var rounds = 0
        while let event = next, rounds < 10 {
            next = nil
            rounds += 1
            for effect in handle(event, at: milliseconds) {
                if case .attachFilter = effect { next = .filterAttached } else { told.append(effect) }
            }
        }
        #expect(rounds < 5, "the filter has to come to rest")
        return told
    }

    mutating func start(_ targets: ReachabilityTarget...) -> [PathStateMachine.Effect] {
        _ = settle(.resumed)
        for target in targets { _ = handle(.watch(.init(target))) }
        return settle(.flush)
    }
}

extension [PathStateMachine.Effect] {
    var names: [String] {
        compactMap { if case .resolve(let name) = $0 { name } else { nil } }
    }

    func told(_ target: ReachabilityTarget) -> TargetReachability? {
        compactMap { if case .report(.init(target), let value) = $0 { value } else { nil } }.last
    }

    var path: NetworkPath? {
        compactMap { if case .reportPath(let path) = $0 { path } else { nil } }.last
    }
}

import RingwakeCore
import Testing

@Suite("Whatever comes in whatever order and at whatever time, the coordinator's promises hold")
struct CoordinatorPropertyTests {
    static let steps = 300

    /// Seeds in groups of 30, so that several run at a time.
    static func seeds(_ group: Int) -> Range<Int> { group * 10..<(group + 1) * 10 }

    /// The behaviour of the world with this seed: each kind comes often enough.
    static func manners(_ seed: Int) -> SimulatedWorld.Manners {
        SimulatedWorld.Manners(
            finishedCalls: [2, 6, 64][seed % 3], changesInstances: seed % 4 == 3, hasStrangers: seed % 2 == 0,
            strikeLimit: [0, 3, 1, 0, 6][seed % 5], restricts: seed % 3 == 0, connects: seed % 7 < 3)
    }

    @Test(
        "One ring for a call at most, none too late or unrecorded, one end for each, all undone in the end",
        arguments: 0..<17)
    func invariants(group: Int) {
        for seed in CoordinatorPropertyTests.seeds(group) {
            var world = SimulatedWorld(seed: seed, CoordinatorPropertyTests.manners(seed))
            var step = 0
            while step < CoordinatorPropertyTests.steps, world.checks.problems.isEmpty {
                world.step()
                step += 1
            }
            CoordinatorPropertyTests.end(&world, seed, after: step)
        }
    }

    @Test(
        "Killed at any point and started again: no call rings twice, and nothing that was accepted is lost",
        arguments: 30..<38)
    func crashes(group: Int) {
        for seed in CoordinatorPropertyTests.seeds(group) {
            var world = SimulatedWorld(seed: seed, CoordinatorPropertyTests.manners(seed))
            var step = 0
            while step < CoordinatorPropertyTests.steps, world.checks.problems.isEmpty {
                if world.chance(0.02) { world.crash() }
                world.step()
                step += 1
            }
            CoordinatorPropertyTests.end(&world, seed, after: step)
        }
    }

    @Test(
        "Killed within the same boot: calls go on where they stood, with their handlers or others",
        arguments: 40..<50)
    func restarts(group: Int) throws {
        for seed in CoordinatorPropertyTests.seeds(group) {
            var world = SimulatedWorld(seed: seed, CoordinatorPropertyTests.manners(seed))
            var step = 0
            while step < CoordinatorPropertyTests.steps, world.checks.problems.isEmpty {
                if world.chance(0.02) { try world.restart() }
                if world.chance(0.002) { world.crash() }
                world.step()
                step += 1
            }
            CoordinatorPropertyTests.end(&world, seed, after: step)
        }
    }

    @Test("The random worlds are rich: calls of every kind come about in them")
    func richness() {
        var (rings, ends, strikes, states) = (0, 0, 0, Set<CallStateMachine.State.Name>())
        var (reasons, outcomes) = (Set<CallEndReason>(), Set<PushOutcome>())
        for seed in 0..<60 {
            var world = SimulatedWorld(seed: seed, CoordinatorPropertyTests.manners(seed))
            for _ in 0..<CoordinatorPropertyTests.steps {
                world.step()
                states.formUnion(world.coordinator.active.values.map(\.machine.state.name))
                reasons.formUnion(world.coordinator.finished.suffix(2).compactMap(\.machine.state.endReason))
            }
            outcomes.formUnion(world.journal.pushes.values.map(\.outcome))
            rings += world.checks.rings.count
            ends += world.checks.ends
            strikes += world.checks.strikes
        }
        #expect(rings > 60 * 3 && ends > 60 * 30)
        #expect(states.count == CallStateMachine.State.Name.allCases.count - 1)
        #expect(strikes > 60)
        #expect(reasons == Set(CallEndReason.allCases))
        // A push is replaced after its arrival, so no row says so.
        #expect(outcomes == Set(PushOutcome.allCases).subtracting([.replaced]))
    }

    /// Lets the world come to its end and looks at what is left: nothing.
    static func end(_ world: inout SimulatedWorld, _ seed: Int, after step: Int) {
        #expect(world.checks.problems.isEmpty, "seed \(seed), step \(step)")
        guard world.checks.problems.isEmpty else { return }
        world.driveToTheEnd()
        #expect(world.checks.problems.isEmpty, "seed \(seed), at the end")
        #expect(world.coordinator.active.isEmpty && world.coordinator.lanes.isEmpty, "seed \(seed)")
        #expect(world.coordinator.nextDeadline == nil && world.handlers.isEmpty, "seed \(seed)")
        #expect(world.checks.open.isEmpty, "seed \(seed): calls without an end")
        // What was answered with 200 is in the journal, and its call has ended there: rung, refused or missed.
        #expect(world.journal.open().isEmpty, "seed \(seed): \(world.journal.open().map(\.record.key))")
        for push in world.journal.pushes.values where push.outcome != .tooLate {
            #expect(world.journal.call(push.key)?.state == .ended, "seed \(seed): \(push.pushID) is lost")
        }
    }
}

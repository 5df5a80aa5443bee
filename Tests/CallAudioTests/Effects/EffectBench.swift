@testable import CallAudio
import RingwakeCore
import Testing

/// The planner on a model of a server, without an engine: each plan is carried out until nothing is left to do.
struct EffectBench {
    var server: ModelServer
    var ledger = EffectLedger()
    var plan = AudioPlan()
    var wishes = RouteWishes()
    var busy = BusyStreams()
    var refused: Set<EffectTarget> = []
    var settled: [EffectTarget: EffectValue] = [:]
    /// Processes of players that are left alone.
    var yielding: Set<Int32> = []
    var left = 0
    /// What another program has in force.
    var others: [EffectLedger] = []
    /// Commands of the last plan, in their order.
    var commands: [AudioServerCommand] = []
    /// Process by process: parent and group.
    var processes: [Int32: ProcessTree.Entry] = [:]

    init(_ image: AudioServerImage = .notebook()) { server = ModelServer(image) }

    var image: AudioServerImage {
        get { server.image }
        set { server.image = newValue }
    }

    var route: RouteDecision {
        RoutePlanner(image: image, session: plan.sessions.first, wishes: wishes).decision
    }

    mutating func apply(_ plan: AudioPlan, sourceLocation: SourceLocation = #_sourceLocation) {
        self.plan = plan
        refused = []
        upkeep(sourceLocation: sourceLocation)
    }

    /// What a change of the server leads to.
    mutating func upkeep(sourceLocation: SourceLocation = #_sourceLocation) {
        commands = []
        for _ in 0..<10 {
            let changes = changes()
            if changes.isEmpty {
                settled = planner.settling
                return mendKinds()
            }
            carryOut(changes)
        }
        Issue.record("it does not come to an end", sourceLocation: sourceLocation)
    }

    func changes() -> EffectChanges { planner.changes() }

    private var planner: EffectPlanner {
        let (processes, others) = (processes, others)
        return EffectPlanner(
            image: image, plan: plan, route: route, ledger: ledger, tree: ProcessTree { processes[$0] }, busy: busy,
            refused: refused, settled: settled, yielding: yielding, others: { others })
    }

    private mutating func carryOut(_ changes: EffectChanges) {
        for kind in Set(changes.made.compactMap(\.restoreID)) where ledger.kinds[kind] == nil {
            ledger.kinds[kind] =
                others.compactMap { $0.kinds[kind] }.first
                ?? .init(of: kind, before: server.stored[kind], isListed: !image.isPipeWire, in: image)
        }
        for (target, ending) in changes.ended {
            if ending == .left {
                left += 1
                ledger.release(target, in: image)
            }
            if ending == .gone { ledger.bury(target) } else { ledger.remove(target) }
        }
        for (target, owners) in changes.owners { ledger.setOwners(owners, of: target) }
        for target in changes.taken { ledger.leave(target) }
        for record in changes.made { ledger.insert(record, in: image) }
        for step in changes.steps {
            commands.append(step.command)
            let failure = server.perform(step.command)
            if failure?.kind == .refused {
                refused.insert(step.target)
                if case .profile(let card) = step.target { wishes.refusedCards.insert(card) }
            } else if step.isUndo || failure != nil {
                ledger.remove(step.target)
            }
        }
    }

    private mutating func mendKinds() {
        let inForce = Set(ledger.records.values.compactMap(\.restoreID))
        for (name, kind) in ledger.kinds where !inForce.contains(name) {
            let stored = image.isPipeWire ? nil : server.stored[name]
            for command in kind.commands(name, stored: stored) {
                commands.append(command)
                _ = server.perform(command)
            }
            ledger.kinds[name] = nil
        }
    }
}

import DataProtection
import RingwakeCore
import Testing

@Suite struct ProtectionStateMachineTests {
    private typealias Machine = ProtectionStateMachine

    private static let all = Set(ProtectionClass.withKeys)
    private static let first: Set<ProtectionClass> = [.completeUntilFirstUserAuthentication]
    private static let dropped: Set<ProtectionClass> = [.complete, .completeUnlessOpen]
    private let start = BootInstant(nanoseconds: 1_000_000_000)

    private func at(_ seconds: Int) -> BootInstant { start.advanced(by: .seconds(seconds)) }

    private func started(
        _ rootKey: Machine.Start.RootKey = .available, unlockedBefore: Bool = false, locked: Bool = false
    ) -> (Machine, [Machine.Effect]) {
        var machine = Machine()
        let effects = machine.handle(
            .start(.init(rootKey: rootKey, wasUnlockedInThisBoot: unlockedBefore, isSessionLocked: locked)), at: start)
        return (machine, effects)
    }

    private func isLocked(_ machine: Machine, first: Bool, unlocked: Bool, problem: String? = nil) -> Bool {
        guard case .locked(let locked) = machine.state else { return false }
        return locked.holdsFirstUnlockKeys == first && locked.hasBeenUnlocked == unlocked && locked.problem == problem
    }

    // MARK: - Start

    @Test("Starts with an open session: everything is available, and the first unlock is remembered")
    func open() {
        let (machine, effects) = started()
        #expect(effects == [.load(Self.all), .rememberFirstUnlock])
        #expect(machine.state == .unlocked && machine.dataState.isAvailable && machine.hasBeenUnlocked)
        #expect(machine.loadedClasses == Self.all && machine.nextDeadline == nil)
        #expect(started(unlockedBefore: true).1 == [.load(Self.all)])
    }

    @Test("Starts with a locked session: nothing before the first unlock, what it has made available after it")
    func locked() {
        let (before, nothing) = started(locked: true)
        #expect(nothing == [] && isLocked(before, first: false, unlocked: false))
        #expect(!before.dataState.isAvailable && !before.hasBeenUnlocked && before.loadedClasses == [])
        let (after, loaded) = started(unlockedBefore: true, locked: true)
        #expect(loaded == [.load(Self.first)] && isLocked(after, first: true, unlocked: true))
        #expect(after.loadedClasses == Self.first && !after.dataState.isAvailable && after.hasBeenUnlocked)
    }

    @Test("Starts with a passphrase: nothing is available, whatever the session is")
    func passphrase() {
        for isLocked in [false, true] {
            let (machine, effects) = started(.needsPerson, unlockedBefore: true, locked: isLocked)
            #expect(effects == [] && self.isLocked(machine, first: false, unlocked: true))
            #expect(machine.loadedClasses == [])
        }
    }

    @Test("Starts without the root key: locked, with the reason, and new records are sealed")
    func missing() {
        var (machine, effects) = started(.missing("the key file is gone"))
        #expect(effects == [] && isLocked(machine, first: false, unlocked: false, problem: "the key file is gone"))
        #expect(machine.handle(.unlock, at: at(2)) == [.load(Self.all), .rememberFirstUnlock, .announceAvailable])
        #expect(machine.state == .unlocked)
    }

    @Test("Without keys nothing is protected, and so available, and no input but a start changes it")
    func off() {
        var machine = Machine()
        #expect(machine.state == nil && machine.dataState.isAvailable && machine.nextDeadline == nil)
        for input in [.lock, .unlock, .deadlineReached] as [Machine.Input] {
            #expect(machine.handle(input, at: start) == [] && machine.state == nil)
        }
        #expect(machine.handle(.startWithoutKeys("not configured"), at: start) == [])
        #expect(machine.dataState.isAvailable && machine.loadedClasses == [] && !machine.hasBeenUnlocked)
        for input in [.lock, .unlock, .deadlineReached] as [Machine.Input] {
            #expect(machine.handle(input, at: at(1)) == [] && machine.state == .off("not configured"))
        }
        #expect(
            machine.handle(
                .start(.init(rootKey: .available, wasUnlockedInThisBoot: false, isSessionLocked: true)), at: at(2))
                == [.announceUnavailable])
        #expect(isLocked(machine, first: false, unlocked: false))
        #expect(machine.handle(.startWithoutKeys("taken out"), at: at(3)) == [.announceAvailable])
        #expect(machine.state == .off("taken out"))
    }

    // MARK: - Lock and unlock

    @Test("A lock is announced at once, and the keys go at the end of the grace period")
    func lock() {
        var (machine, _) = started()
        #expect(machine.handle(.lock, at: at(5)) == [.announceUnavailable])
        #expect(machine.state == .locking(dropAt: at(15)) && machine.nextDeadline == at(15))
        #expect(machine.dataState.isAvailable && machine.loadedClasses == Self.all)
        // A second one doesn't begin it anew.
        #expect(machine.handle(.lock, at: at(9)) == [] && machine.nextDeadline == at(15))
        #expect(machine.handle(.deadlineReached, at: at(14)) == [] && machine.nextDeadline == at(15))
        #expect(machine.handle(.deadlineReached, at: at(15)) == [.drop(Self.dropped)])
        #expect(isLocked(machine, first: true, unlocked: true) && machine.nextDeadline == nil)
        #expect(!machine.dataState.isAvailable && machine.loadedClasses == Self.first && machine.hasBeenUnlocked)
        #expect(machine.handle(.lock, at: at(16)) == [] && machine.handle(.deadlineReached, at: at(17)) == [])
        #expect(machine.handle(.unlock, at: at(20)) == [.load(Self.dropped), .announceAvailable])
        #expect(machine.state == .unlocked && machine.handle(.unlock, at: at(21)) == [])
    }

    @Test("An unlock within the grace period loads nothing")
    func grace() {
        for rootKey in [.available, .needsPerson] as [Machine.Start.RootKey] {
            var (machine, _) = started(rootKey)
            _ = machine.handle(.unlock, at: at(1))
            #expect(machine.handle(.lock, at: at(5)) == [.announceUnavailable])
            #expect(machine.handle(.unlock, at: at(14)) == [.announceAvailable])
            #expect(machine.state == .unlocked && machine.nextDeadline == nil)
            #expect(machine.handle(.deadlineReached, at: at(15)) == [] && machine.state == .unlocked)
        }
    }

    @Test("A machine that slept over the grace period drops the keys before it looks at the unlock")
    func asleep() {
        var (machine, _) = started(.needsPerson)
        _ = machine.handle(.unlock, at: at(1))
        _ = machine.handle(.lock, at: at(5))
        #expect(machine.handle(.deadlineReached, at: at(3600)) == [.drop(Self.dropped)])
        #expect(isLocked(machine, first: true, unlocked: true))
        var (keyFile, _) = started()
        _ = keyFile.handle(.lock, at: at(5))
        #expect(
            keyFile.handle(.unlock, at: at(15)) == [
                .drop(Self.dropped), .load(Self.dropped), .announceAvailable,
            ])
        #expect(keyFile.state == .unlocked)
    }

    @Test("Without a grace period the keys go at once")
    func noGrace() {
        var machine = Machine(gracePeriod: .zero)
        _ = machine.handle(
            .start(.init(rootKey: .available, wasUnlockedInThisBoot: true, isSessionLocked: false)), at: start)
        #expect(machine.handle(.lock, at: at(1)) == [.announceUnavailable, .drop(Self.dropped)])
        #expect(isLocked(machine, first: true, unlocked: true) && machine.nextDeadline == nil)
    }

    @Test("The first unlock is remembered once")
    func firstUnlock() {
        var (machine, _) = started(locked: true)
        #expect(
            machine.handle(.unlock, at: at(1)) == [.load(Self.all), .rememberFirstUnlock, .announceAvailable])
        _ = machine.handle(.lock, at: at(2))
        _ = machine.handle(.deadlineReached, at: at(12))
        #expect(machine.handle(.unlock, at: at(13)) == [.load(Self.dropped), .announceAvailable])
    }

    @Test("Another start takes the place of the former one, and does only what differs")
    func again() {
        var (machine, _) = started()
        let open = Machine.Start(rootKey: .available, wasUnlockedInThisBoot: false, isSessionLocked: false)
        #expect(machine.handle(.start(open), at: at(1)) == [] && machine.state == .unlocked)
        let locked = Machine.Start(rootKey: .available, wasUnlockedInThisBoot: false, isSessionLocked: true)
        #expect(machine.handle(.start(locked), at: at(2)) == [.announceUnavailable, .drop(Self.dropped)])
        #expect(isLocked(machine, first: true, unlocked: true))
        let person = Machine.Start(rootKey: .needsPerson, wasUnlockedInThisBoot: false, isSessionLocked: false)
        #expect(machine.handle(.start(person), at: at(3)) == [.drop(Self.first)])
        #expect(isLocked(machine, first: false, unlocked: true))
        #expect(machine.handle(.startWithoutKeys("none"), at: at(4)) == [.announceAvailable])
    }

    @Test("Over every sequence of inputs, keys are there only where they may be")
    func sequences() {
        let inputs: [Machine.Input] = [
            .lock, .unlock, .deadlineReached,
            .start(.init(rootKey: .needsPerson, wasUnlockedInThisBoot: true, isSessionLocked: false)),
            .start(.init(rootKey: .available, wasUnlockedInThisBoot: false, isSessionLocked: true)),
            .startWithoutKeys("none"),
        ]
        func visit(_ machine: Machine, _ loaded: Set<ProtectionClass>, _ announced: Bool, depth: Int, at now: Int) {
            guard depth > 0 else { return }
            for input in inputs {
                for pause in [1, 11] {
                    var (next, loaded, announced) = (machine, loaded, announced)
                    for effect in next.handle(input, at: at(now + pause)) {
                        switch effect {
                        case .load(let classes):
                            #expect(!classes.isEmpty && loaded.isDisjoint(with: classes))
                            loaded.formUnion(classes)
                        case .drop(let classes):
                            #expect(!classes.isEmpty && loaded.isSuperset(of: classes))
                            loaded.subtract(classes)
                        case .announceAvailable:
                            #expect(!announced)
                            announced = true
                        case .announceUnavailable:
                            #expect(announced)
                            announced = false
                        case .rememberFirstUnlock: #expect(next.state == .unlocked)
                        }
                    }
                    #expect(loaded == next.loadedClasses)
                    #expect((next.nextDeadline != nil) == (loaded == Self.all && !announced))
                    visit(next, loaded, announced, depth: depth - 1, at: now + pause)
                }
            }
        }
        let (machine, _) = started()
        visit(machine, Self.all, true, depth: 4, at: 0)
    }
}

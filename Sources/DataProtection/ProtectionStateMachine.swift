package import RingwakeCore

/// When the keys of the classes are available: follows the session's lock, as iOS follows the device's.
///
///     (new) --start--> off        (there are no keys)
///       |     start
///       +----------> locked <---- the grace period ends ---- locking
///       |              |                                      |  ^
///       |              | unlock                        unlock |  | lock
///       |              v                                      v  |
///       +--start--> unlocked <--------------------------------+  |
///                      +-----------------------------------------+
///
/// The labels of the arrows are ``Input``s. `start` leads from each state to each: the configuration may change.
///
/// | state | keys |
/// |---|---|
/// | off | none: nothing is protected |
/// | locked | those of `completeUntilFirstUserAuthentication`, if they were loaded since the device started |
/// | locking | all: the device is locked, and handlers may end what they do |
/// | unlocked | all |
package struct ProtectionStateMachine: Equatable, Sendable {
    /// What a machine starts with.
    package struct Start: Equatable, Sendable {
        /// Whether the root key can be had.
        package enum RootKey: Equatable, Sendable {
            /// It is there.
            case available
            /// A person has to enter it.
            case needsPerson
            /// It should be there and isn't: why, for a person.
            case missing(String)
        }

        package var rootKey: RootKey
        /// Whether the device was unlocked since it was switched on, by ``Effect/rememberFirstUnlock``.
        package var wasUnlockedInThisBoot: Bool
        /// Whether the session is locked. A machine without one is not.
        package var isSessionLocked: Bool

        package init(rootKey: RootKey, wasUnlockedInThisBoot: Bool, isSessionLocked: Bool) {
            self.rootKey = rootKey
            self.wasUnlockedInThisBoot = wasUnlockedInThisBoot
            self.isSessionLocked = isSessionLocked
        }
    }

    package enum Input: Equatable, Sendable {
        /// There are keys.
        case start(Start)
        /// There are none: why, for a person.
        case startWithoutKeys(String)
        /// The session was locked, or a command locks the device.
        case lock
        /// The device is unlocked. The root key is there, and is the right one.
        case unlock
        /// ``ProtectionStateMachine/nextDeadline`` was reached.
        case deadlineReached
    }

    /// What has to be done, in this order.
    package enum Effect: Equatable, Sendable {
        /// Report that protected data will become unavailable.
        case announceUnavailable
        /// Overwrite the secret keys of these classes.
        case drop(Set<ProtectionClass>)
        /// Load the secret keys of these classes.
        case load(Set<ProtectionClass>)
        /// Store that the device was unlocked in this boot.
        case rememberFirstUnlock
        /// Report that protected data are available.
        case announceAvailable
    }

    package enum State: Equatable, Sendable {
        case off(String)
        case locked(Locked)
        case locking(dropAt: BootInstant)
        case unlocked
    }

    package struct Locked: Equatable, Sendable {
        /// Whether the keys of `completeUntilFirstUserAuthentication` are loaded.
        package var holdsFirstUnlockKeys: Bool
        /// Whether the device was unlocked since it was switched on.
        package var hasBeenUnlocked: Bool
        /// Why it can't be unlocked, for a person.
        package var problem: String?
    }

    /// The time between the lock and the end of the keys: what iOS gives.
    package static let standardGracePeriod = Duration.seconds(10)
    private static let firstUnlock: Set<ProtectionClass> = [.completeUntilFirstUserAuthentication]

    /// Nil before the start.
    package private(set) var state: State?
    /// How long keys stay after a lock.
    package var gracePeriod: Duration

    package init(gracePeriod: Duration = standardGracePeriod) {
        self.gracePeriod = gracePeriod
    }

    // MARK: - What holds

    /// The classes whose secret keys are loaded.
    package var loadedClasses: Set<ProtectionClass> {
        switch state {
        case nil, .off: []
        case .locked(let locked): locked.holdsFirstUnlockKeys ? Self.firstUnlock : []
        case .locking, .unlocked: Set(ProtectionClass.withKeys)
        }
    }

    /// What apps know of it: `UIApplication.isProtectedDataAvailable`. Available without protection too.
    package var dataState: ProtectedDataState {
        switch state {
        case nil, .off, .unlocked: .available
        case .locking(let dropAt): .willBecomeUnavailable(at: dropAt)
        case .locked: .unavailable
        }
    }

    /// Whether the device was unlocked since it was switched on.
    package var hasBeenUnlocked: Bool {
        switch state {
        case nil, .off: false
        case .locked(let locked): locked.hasBeenUnlocked
        case .locking, .unlocked: true
        }
    }

    /// When ``Input/deadlineReached`` is due.
    package var nextDeadline: BootInstant? {
        guard case .locking(let dropAt) = state else { return nil }
        return dropAt
    }

    /// Whether protected data were last reported as available; nil if nothing was reported yet.
    private var isAnnounced: Bool? {
        switch state {
        case nil: nil
        case .off, .unlocked: true
        case .locked, .locking: false
        }
    }

    // MARK: - Inputs

    package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
        // A machine that was asleep may get another input before its timer: the keys' time is over nevertheless.
        var effects: [Effect] = []
        if case .locking(let dropAt) = state, now >= dropAt { effects = enter(.locked(.afterUnlock)) }
        return effects + apply(input, at: now)
    }

    private mutating func apply(_ input: Input, at now: BootInstant) -> [Effect] {
        switch input {
        case .start(let start): return self.start(start)
        case .startWithoutKeys(let reason): return enter(.off(reason))
        case .lock: return lock(at: now)
        case .unlock: return unlock()
        case .deadlineReached: return []
        }
    }

    private mutating func start(_ start: Start) -> [Effect] {
        let hasBeenUnlocked = start.wasUnlockedInThisBoot || self.hasBeenUnlocked
        switch start.rootKey {
        case .available where !start.isSessionLocked:
            return enter(.unlocked, isFirstUnlock: !hasBeenUnlocked)
        case .available:
            return enter(.locked(Locked(holdsFirstUnlockKeys: hasBeenUnlocked, hasBeenUnlocked: hasBeenUnlocked)))
        case .needsPerson:
            return enter(.locked(Locked(holdsFirstUnlockKeys: false, hasBeenUnlocked: hasBeenUnlocked)))
        case .missing(let reason):
            return enter(
                .locked(Locked(holdsFirstUnlockKeys: false, hasBeenUnlocked: hasBeenUnlocked, problem: reason)))
        }
    }

    private mutating func lock(at now: BootInstant) -> [Effect] {
        guard case .unlocked = state else { return [] }
        guard gracePeriod > .zero else { return enter(.locked(.afterUnlock)) }
        return enter(.locking(dropAt: now.advanced(by: gracePeriod)))
    }

    private mutating func unlock() -> [Effect] {
        switch state {
        case .locked(let locked): enter(.unlocked, isFirstUnlock: !locked.hasBeenUnlocked)
        case .locking: enter(.unlocked)
        case nil, .off, .unlocked: []
        }
    }

    /// - Returns: what follows from the difference of the states.
    private mutating func enter(_ next: State, isFirstUnlock: Bool = false) -> [Effect] {
        let (loaded, announced) = (loadedClasses, isAnnounced)
        state = next
        var effects: [Effect] = []
        if announced == true, isAnnounced == false { effects.append(.announceUnavailable) }
        let (dropped, new) = (loaded.subtracting(loadedClasses), loadedClasses.subtracting(loaded))
        if !dropped.isEmpty { effects.append(.drop(dropped)) }
        if !new.isEmpty { effects.append(.load(new)) }
        if isFirstUnlock { effects.append(.rememberFirstUnlock) }
        if announced == false, isAnnounced == true { effects.append(.announceAvailable) }
        return effects
    }
}

extension ProtectionStateMachine.Locked {
    /// After the grace period.
    fileprivate static let afterUnlock = ProtectionStateMachine.Locked(
        holdsFirstUnlockKeys: true, hasBeenUnlocked: true)
}

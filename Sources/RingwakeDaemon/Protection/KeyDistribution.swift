internal import DataProtection
internal import RingwakeCore

/// Gives the present keys to the store, and tells apps what they mean for them.
///
/// Apps read as soon as they are told that they can. So they are told when the store uses the keys.
final class KeyDistribution {
    /// Gives keys to the store, and calls back when it uses them.
    var apply: (KeyRing, @escaping () -> Void) -> Void = { $1() }
    /// Called when apps have to know that protected data can't be read soon, can't be read, or can be read again.
    var publish: (ProtectedDataState) -> Void = { _ in }

    /// The keys as they are available now.
    var ring = KeyRing.off { didSet { isNew = true } }
    private var isNew = false
    private var isBegun = false
    private var applying = 0
    private var waiting: [() -> Void] = []
    /// What apps were told last, and what status and API say: one truth, so that nobody reads too early.
    private(set) var published = ProtectedDataState.available
    /// The classes that the store can read.
    private(set) var readable = Set(ProtectionClass.allCases)
    private var state = ProtectedDataState.available

    /// From now on store and apps are told: ``apply`` and ``publish`` are set.
    func begin() {
        isBegun = true
        settle(state)
    }

    /// The ring and the state are what they are now.
    func settle(_ state: ProtectedDataState) {
        self.state = state
        readable.formIntersection(available)
        guard isBegun else { return }
        if isNew {
            isNew = false
            applying += 1
            apply(ring) { [weak self] in
                self?.applying -= 1
                self?.report()
            }
        }
        report()
    }

    /// Calls `body` when the keys as they are now are in use.
    func whenApplied(_ body: @escaping () -> Void) {
        if applying == 0 { body() } else { waiting.append(body) }
    }

    private var available: [ProtectionClass] { ProtectionClass.allCases.filter(ring.isAvailable) }

    private func report() {
        if applying == 0 { readable.formUnion(available) }
        if state == .available, applying > 0 { return }
        if state != published {
            published = state
            publish(state)
        }
        guard applying == 0 else { return }
        let waiting = waiting
        self.waiting = []
        for body in waiting { body() }
    }
}

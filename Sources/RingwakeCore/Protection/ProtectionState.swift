/// Which protected data can be read now.
package struct ProtectionState: Hashable, Sendable {
    /// The class of each kind of data; a kind that isn't named is not protected.
    package var classes: [ProtectedKind: ProtectionClass]
    /// The classes whose keys are there.
    package var available: Set<ProtectionClass>

    package init(classes: [ProtectedKind: ProtectionClass] = [:], available: Set<ProtectionClass> = []) {
        self.classes = classes
        self.available = available
    }

    /// The class that keeps from reading a kind of data; nil if it can be read.
    ///
    /// - Parameter isOpen: whether it belongs to a call in progress, for the handler that has that call.
    package func lock(of kind: ProtectedKind, isOpen: Bool = false) -> ProtectionClass? {
        guard let protection = classes[kind], protection != .none, !available.contains(protection) else { return nil }
        return protection == .completeUnlessOpen && isOpen ? nil : protection
    }
}

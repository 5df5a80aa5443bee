/// The scope of the event socket's filter, and the interfaces whose events the previous filter may have dropped.
struct FilterTracker {
    /// The filter may keep twice the needed destinations and this many more, before it is too wide.
    private static let spareDestinations = 64

    /// The scope of the filter in force, or about to be.
    private(set) var attached = FilterScope()
    /// Number of destinations in the last evaluation of everything.
    private var judgedDestinations = 0
    /// Interfaces whose events pass only after the next `filterAttached`.
    private var newInterfaces: Set<UInt32> = []

    /// Whether most of the filter's destinations belong to former targets.
    var isTooWide: Bool { attached.destinations.count > 2 * judgedDestinations + Self.spareDestinations }

    /// Adopts the scope that the last evaluation needs.
    /// - Parameters:
    ///   - isAll: everything was judged, so the scope may shrink.
    ///   - unsettled: interfaces with addresses whose duplicate check has not ended.
    /// - Returns: The scope to attach; nil if the filter in force fits.
    mutating func adopt(_ judged: FilterScope, isAll: Bool, unsettled: Set<UInt32>) -> (
        scope: FilterScope, isWider: Bool
    )? {
        var scope = judged
        if isAll {
            judgedDestinations = judged.destinations.count
        } else {
            scope.formUnion(attached)
            scope.interfaces = judged.interfaces
        }
        guard scope != attached else { return nil }
        let isWider = !scope.isSubset(of: attached)
        if isWider {
            newInterfaces.formUnion(scope.interfaces.subtracting(attached.interfaces))
            newInterfaces.formUnion(attached.uninvolved.subtracting(scope.uninvolved))
            // The end of a duplicate check looks like a refresh, which the filter dropped until now.
            if scope.hasTentativeAddresses, !attached.hasTentativeAddresses { newInterfaces.formUnion(unsettled) }
        }
        attached = scope
        return (scope, isWider)
    }

    /// The new filter is in force.
    /// - Returns: The interfaces to read again.
    mutating func takeNewInterfaces() -> Set<UInt32> {
        defer { newInterfaces = [] }
        return newInterfaces
    }
}

extension FilterScope {
    /// Whether a filter for `other` lets through all that this one asks for.
    fileprivate func isSubset(of other: FilterScope) -> Bool {
        destinations.isSubset(of: other.destinations) && interfaces.isSubset(of: other.interfaces)
            && other.uninvolved.isSubset(of: uninvolved)
            && (!hasTentativeAddresses || other.hasTentativeAddresses) && (!awaitsLinks || other.awaitsLinks)
    }

    fileprivate mutating func formUnion(_ other: FilterScope) {
        destinations.formUnion(other.destinations)
        interfaces.formUnion(other.interfaces)
        uninvolved.formIntersection(other.uninvolved)
        hasTentativeAddresses = hasTentativeAddresses || other.hasTentativeAddresses
        awaitsLinks = awaitsLinks || other.awaitsLinks
    }
}

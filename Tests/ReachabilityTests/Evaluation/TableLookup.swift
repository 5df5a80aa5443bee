import CRingwakeNetlink
import Glibc

@testable import Reachability

/// A kernel made of tables: longest prefix, then metric, as the real one looks up.
final class TableLookup: KernelLookup {
    /// An entry of the routing table.
    struct Entry {
        var prefix: IPAddress
        var length: Int
        /// What a look-up is refused with; 0 for none.
        var refusal: Int32 = 0
        var route: Route
    }

    var linkTable: [LinkFacts] = []
    var addressTable: [AddressFacts] = []
    var entries: [Entry] = []
    var deviceTypes: [String: String] = [:]
    /// Every request fails.
    var isSilent = false
    /// Answers of look-ups without an interface that do not come from the table.
    var fixedAnswers: [IPAddress: RouteAnswer] = [:]

    private(set) var questions: [RouteQuestion] = []
    private(set) var linkRequests: [UInt32] = []
    private(set) var deviceTypeRequests: [String] = []

    private func answering(_ request: String) throws(KernelLookupError) {
        if isSilent { throw KernelLookupError(request: request, message: "is silent") }
    }

    func links() throws(KernelLookupError) -> [LinkFacts] {
        try answering("RTM_GETLINK")
        return linkTable
    }

    func link(_ index: UInt32) throws(KernelLookupError) -> LinkFacts? {
        try answering("RTM_GETLINK")
        linkRequests.append(index)
        return linkTable.first { $0.index == index }
    }

    func index(ofLink name: String) throws(KernelLookupError) -> UInt32? {
        try answering("RTM_GETLINK")
        return linkTable.first { $0.name == name }?.index
    }

    func addresses(of interface: UInt32) throws(KernelLookupError) -> [AddressFacts] {
        try answering("RTM_GETADDR")
        return addressTable.filter { interface == 0 || $0.interface == interface }
    }

    func deviceType(of link: LinkFacts) -> String {
        deviceTypeRequests.append(link.name)
        return deviceTypes[link.name] ?? ""
    }

    func route(_ question: RouteQuestion) throws(KernelLookupError) -> RouteAnswer {
        try answering("RTM_GETROUTE")
        questions.append(question)
        if question.interface == 0, !question.matchesTable, let answer = fixedAnswers[question.destination] {
            return answer
        }
        if question.interface == 0, addressTable.contains(where: { $0.address == question.destination }) {
            return local(question)
        }
        let matching = entries.filter {
            $0.covers(question.destination)
                && (question.interface == 0 || $0.route.interface == question.interface
                    || $0.route.hops.contains(question.interface))
        }
        let best = matching.min { ($0.negativeLength, $0.route.metric) < ($1.negativeLength, $1.route.metric) }
        guard let best else {
            guard question.interface != 0, question.destination.family == .ipv4, !question.matchesTable else {
                return .refused(ENETUNREACH)
            }
            // What IPv4 makes up for a question with an interface.
            return .route(resolved(Route(type: UInt8(RTN_UNICAST), interface: question.interface), question))
        }
        if best.refusal != 0 { return .refused(best.refusal) }
        return .route(question.matchesTable ? best.route : resolved(best.route, question))
    }

    private func local(_ question: RouteQuestion) -> RouteAnswer {
        let owner = addressTable.first { $0.address == question.destination }?.interface ?? 1
        return .route(
            Route(
                type: UInt8(RTN_LOCAL), interface: question.matchesTable ? owner : 1, source: question.destination))
    }

    /// With the address that the kernel would choose: of the link first, none whose check is under way; and none in the
    /// answer when IPv4 was asked with one.
    private func resolved(_ route: Route, _ question: RouteQuestion) -> Route {
        var route = route
        route.lifetime = nil
        if route.hops.contains(question.interface) { route.interface = question.interface }
        route.hops = []
        if question.source != nil, question.destination.family == .ipv4 {
            route.source = nil
        } else if route.source == nil {
            let usable = addressTable.filter {
                $0.address.family == question.destination.family && $0.isUsable && !$0.address.isLoopback
            }
            let here = usable.filter { $0.interface == route.interface }
            let choice = here.first(where: \.isRoutable) ?? here.first ?? usable.first(where: \.isRoutable)
            route.source = choice?.address
        }
        return route
    }
}

extension TableLookup.Entry {
    fileprivate var negativeLength: Int { -length }

    fileprivate func covers(_ address: IPAddress) -> Bool {
        guard address.family == prefix.family else { return false }
        let (wanted, given) = (prefix.bytes, address.bytes)
        return (0..<min(length, given.count * 8)).allSatisfy { bit in
            let mask: UInt8 = 0x80 >> UInt8(bit % 8)
            return (wanted[bit / 8] ^ given[bit / 8]) & mask == 0
        }
    }
}

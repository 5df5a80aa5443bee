/// Why a destination, or the network as a whole, cannot be used.
public enum UnsatisfiedReason: String, Hashable, Sendable, CaseIterable {
    /// There is no route (ENETUNREACH; also a route of type `throw` without another one after it).
    case noRoute
    /// A route of type `unreachable` (EHOSTUNREACH).
    case unreachable
    /// A route or a rule of type `prohibit` (EACCES).
    case prohibited
    /// A route or a rule of type `blackhole` (EINVAL).
    case blackhole
    /// The interface is switched off.
    case interfaceDown
    /// The interface has no carrier: no cable, no association.
    case noCarrier
    /// The interface waits for something, such as authentication, before it forwards packets.
    case interfaceDormant
    /// The zone of the address names no interface.
    case noInterface
    /// There is no source address.
    case noSourceAddress
    /// The kernel still checks the source address for duplicates (RFC 4862 section 5.4).
    case sourceTentative
    /// Another node uses the source address (RFC 4862 section 5.4.5).
    case sourceDuplicate
    /// The only source address is link-local, and the destination is not: no router forwards its packets.
    case sourceLinkLocal
    /// The local address of the pair is not an address of this machine.
    case sourceNotLocal
    /// The host name has no address, or no name server knows it.
    case nameNotFound
    /// No name server answered.
    case nameServersSilent
    /// The host name is being looked up for the first time.
    case resolving
    /// The link has to be connected first.
    case connectionRequired
    /// The kernel did not answer; see the status of the monitor.
    case kernelError

    /// The reason as part of a sentence, in lower case, without a full stop.
    public var explanation: String {
        switch self {
        case .noRoute: "no route leads there"
        case .unreachable: "an unreachable route is set"
        case .prohibited: "a prohibit route or rule is set"
        case .blackhole: "a blackhole route or rule is set"
        case .interfaceDown: "the interface is down"
        case .noCarrier: "the interface has no carrier"
        case .interfaceDormant: "the interface is dormant"
        case .noInterface: "there is no such interface"
        case .noSourceAddress: "there is no address to send from"
        case .sourceTentative: "the address to send from is still tentative"
        case .sourceDuplicate: "the address to send from is a duplicate"
        case .sourceLinkLocal: "there is only a link-local address to send from"
        case .sourceNotLocal: "the local address is not one of this machine"
        case .nameNotFound: "the name has no address"
        case .nameServersSilent: "no name server answered"
        case .resolving: "the name is being looked up"
        case .connectionRequired: "a connection has to be made first"
        case .kernelError: "the kernel did not answer"
        }
    }
}

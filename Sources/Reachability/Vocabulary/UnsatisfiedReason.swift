/// Why a destination, or the network as a whole, is out of reach.
public enum UnsatisfiedReason: String, Hashable, Sendable, CaseIterable {
    /// No route leads there (ENETUNREACH; also a route of type `throw` with none behind it).
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
    /// The interface waits for something, such as authentication, before it passes packets.
    case interfaceDormant
    /// The zone of the address names no interface.
    case noInterface
    /// No address to send from.
    case noSourceAddress
    /// The address to send from is still being checked for duplicates (RFC 4862 section 5.4).
    case sourceTentative
    /// The address to send from is in use by another node (RFC 4862 section 5.4.5).
    case sourceDuplicate
    /// Only a link-local address is there to send from, and no gateway passes that on.
    case sourceLinkLocal
    /// The local address of the pair is not an address of this machine.
    case sourceNotLocal
    /// The host name has no address, or no name server knows it.
    case nameNotFound
    /// No name server answered.
    case nameServersSilent
    /// The host name is being looked up for the first time.
    case resolving
    /// A connection has to be made first.
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

/// What a host name led to.
enum Resolution: Equatable, Sendable {
    /// At least one address, in the order of preference (RFC 6724) in which the system gave them.
    case addresses([IPAddress])
    /// There is no such name, or it has no address.
    case notFound
    /// Nobody could be asked, or nobody answered: what the system says of it.
    case failed(String)
}

/// Finds the addresses of host names without holding up the loop that it belongs to.
protocol HostResolving: AnyObject {
    /// Calls `completion` once, in a later turn of the loop; never after `close`.
    func resolve(_ host: String, _ completion: @escaping (Resolution) -> Void)

    /// Gives up everything that is under way. Idempotent.
    func close()
}

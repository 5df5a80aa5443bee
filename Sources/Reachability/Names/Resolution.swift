/// The resolver's answer for a host name.
enum Resolution: Equatable, Sendable {
    /// At least one address, in the order of preference (RFC 6724) of the system.
    case addresses([IPAddress])
    /// There is no such name, or it has no address.
    case notFound
    /// No name server could be asked, or none answered; the system's reason.
    case failed(String)
}

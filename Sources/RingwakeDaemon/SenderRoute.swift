internal import Cryptography
internal import DaemonConfiguration
internal import HTTPServer
internal import RingwakeCore
internal import VoIPCertificates

/// How senders reach this device, for the credentials that apps give to their servers.
nonisolated struct SenderRoute {
    /// Where the senders of one environment connect, and what they trust the server by.
    struct Place: Equatable {
        /// A host name, or a numeric address without brackets; nil if the daemon can't know it.
        var host: String?
        /// The TCP port; nil if the daemon can't know it.
        var port: UInt16?
        /// PEM of the CAs; nil if senders need none of their own, or if it isn't known.
        var authorities: String?

        /// `host:port`, or the host alone, for people; nil without a host.
        var text: String? {
            guard let host else { return nil }
            let name = host.contains(":") ? "[\(host)]" : host
            return port.map { "\(name):\($0)" } ?? name
        }
    }

    /// An open port for pushes.
    struct Port {
        let address: SocketAddress
        let environment: PushEnvironment
    }

    /// A gateway that takes the pushes for this device.
    struct Gateway {
        /// The environments whose tokens it has.
        let environments: Set<PushEnvironment>
        /// PEM of the CAs that this device trusts it by; nil for those of the system, and for a pinned key.
        let authorities: String?
    }

    /// What the configuration says, which comes first.
    let settings: SenderSettings
    /// Nil without a link. Where its senders connect isn't known here: a link has an address of its own.
    let gateway: Gateway?
    /// The open ports.
    let ports: [Port]
    /// The names of the server certificate; empty if it has none, or without a server.
    let names: [SubjectAlternativeName]
    /// The machine's; nil if it has none but `localhost`.
    let hostName: String?
    /// What senders trust this daemon's own server by.
    let authorities: SenderAuthorities

    /// Where the senders of an environment connect.
    func place(for environment: PushEnvironment) -> Place {
        var place = found(for: environment)
        if let known = settings.address(in: environment) {
            place.host = known.host
            place.port = known.port ?? place.port
        }
        if let configured = authorities.configured { place.authorities = configured }
        // Of no use alone.
        if place.host == nil { place.port = nil }
        return place
    }

    /// The same without the configuration.
    private func found(for environment: PushEnvironment) -> Place {
        if let gateway, gateway.environments.contains(environment) { return Place(authorities: gateway.authorities) }
        let own = ports.filter { $0.environment == environment }.map { $0.address }
        guard let address = own.first(where: { !$0.isLoopback }) ?? own.first else { return Place() }
        return Place(host: host(at: address), port: address.port, authorities: authorities.issuer)
    }

    /// The name or address by which senders reach a port. TLS needs one that the certificate is for.
    private func host(at address: SocketAddress) -> String? {
        guard !address.isLoopback else { return address.host }
        let own = address.isWildcard ? hostName : address.host
        if names.isEmpty || own.map(isNamed) == true { return own }
        return publicName ?? (address.isWildcard ? nil : own)
    }

    /// Whether the certificate is for a host name or an address. A wildcard stands for one label (RFC 6125 section 6.4.3).
    private func isNamed(_ host: String) -> Bool {
        let wanted = SubjectAlternativeName(host.lowercased())
        return names.contains { name in
            guard case .dns(let known) = name, case .dns(let text) = wanted else { return name == wanted }
            let pattern = known.lowercased()
            return pattern == text || (pattern.hasPrefix("*.") && text.drop { $0 != "." } == pattern.dropFirst())
        }
    }

    /// The first host name of the certificate that is this server's own.
    private var publicName: String? {
        for case .dns(let known) in names {
            let name = known.lowercased()
            let isOwn = name != "localhost" && !name.hasPrefix("*.") && !DevelopmentSetup.appleNames.contains(name)
            if isOwn { return name }
        }
        return nil
    }
}

extension SocketAddress {
    /// Whether only programs of this machine reach it.
    nonisolated fileprivate var isLoopback: Bool {
        guard case .ip(let bytes) = SubjectAlternativeName(host) else { return false }
        return isIPv6 ? bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1 : bytes.first == 127
    }

    /// Whether it stands for all addresses of the machine.
    nonisolated fileprivate var isWildcard: Bool {
        guard case .ip(let bytes) = SubjectAlternativeName(host) else { return false }
        return bytes.allSatisfy { $0 == 0 }
    }
}

extension Daemon {
    /// How senders reach this device now.
    func senderRoute() -> SenderRoute {
        let paired = outbound?.paired
        return SenderRoute(
            settings: configuration.senders,
            gateway: paired.map { paired in
                // The gateway's ports for links and for pushes have one certificate.
                let pem = paired.trust == .authorities ? paired.authorities : nil
                return SenderRoute.Gateway(
                    environments: Set(configuration.link.environments),
                    authorities: pem.flatMap { try? SenderAuthorities.pem(ofFile: Array($0.utf8)) })
            },
            ports: (listeners?.providers.open ?? []).map {
                SenderRoute.Port(address: $0.listener.localAddress, environment: $0.environment)
            },
            names: credentials.tls?.certificate.subjectAlternativeNames ?? [], hostName: hostName(),
            authorities: credentials.authorities)
    }
}

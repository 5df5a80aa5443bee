internal import Glibc

/// The system's own look-up of host names, which blocks until it has an answer.
enum SystemLookup {
    /// Maximum addresses of one name; the system gives the best ones first.
    static let maximumAddresses = 64
    /// Maximum bytes of a name. Names of DNS have at most 253, those of other sources may have more.
    static let maximumNameLength = 1_024

    /// Asks `getaddrinfo`: /etc/hosts, mDNS, name servers, as nsswitch.conf(5) says.
    ///
    /// Asks for both families whatever the interfaces have (no AI_ADDRCONFIG): which of them can be used is judged
    /// here, and may change while the answer stays. glibc reads a changed resolv.conf again by itself (since 2.26),
    /// so each call uses the current servers.
    static func addresses(of host: String) -> Resolution {
        guard !host.isEmpty, !host.utf8.contains(0), host.utf8.count <= maximumNameLength else { return .notFound }
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        // Without a type each address comes three times.
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, nil, &hints, &list)
        let systemError = errno
        guard result == 0 else {
            // With these hints, the other errors mean that there is no such name or no address: EAI_NONAME, and two
            // that hide behind _GNU_SOURCE (EAI_NODATA, EAI_ADDRFAMILY).
            let isFailure = [EAI_AGAIN, EAI_FAIL, EAI_MEMORY, EAI_SYSTEM].contains(result)
            return isFailure ? .failed(reason(of: result, systemError)) : .notFound
        }
        defer { freeaddrinfo(list) }
        let addresses = collect(list)
        return addresses.isEmpty ? .notFound : .addresses(addresses)
    }

    private static func reason(of result: Int32, _ systemError: Int32) -> String {
        if result == EAI_SYSTEM { return String(cString: strerror(systemError)) }
        return gai_strerror(result).map { String(cString: $0) } ?? "error \(result)"
    }

    private static func collect(_ list: UnsafeMutablePointer<addrinfo>?) -> [IPAddress] {
        var addresses: [IPAddress] = []
        var next = list
        while let entry = next, addresses.count < maximumAddresses {
            if let address = address(in: entry.pointee), !addresses.contains(address) { addresses.append(address) }
            next = entry.pointee.ai_next
        }
        return addresses
    }

    private static func address(in entry: addrinfo) -> IPAddress? {
        guard let storage = entry.ai_addr else { return nil }
        switch Int32(storage.pointee.sa_family) {
        case AF_INET where Int(entry.ai_addrlen) >= MemoryLayout<sockaddr_in>.size:
            return storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { v4 in
                IPAddress(bytes: withUnsafeBytes(of: v4.pointee.sin_addr) { Array($0)[...] })
            }
        case AF_INET6 where Int(entry.ai_addrlen) >= MemoryLayout<sockaddr_in6>.size:
            return storage.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { v6 in
                let address = IPAddress(bytes: withUnsafeBytes(of: v6.pointee.sin6_addr) { Array($0)[...] })
                // Of a link-local address, the index of its interface.
                let scope = v6.pointee.sin6_scope_id
                return scope == 0 ? address : address?.inZone("\(scope)")
            }
        default: return nil
        }
    }
}

import CRingwakeLinux
import FileSystem
import Glibc

/// The names and addresses by which others may reach this machine.
struct LocalNames {
    /// Maximum addresses: a certificate for more is of no use to anybody.
    private static let maximumAddresses = 16
    /// Interfaces to containers and virtual machines of this machine.
    private static let privateInterfaces = ["docker", "br-", "veth", "virbr", "lxc", "cni"]
    /// The address by which the kernel is asked for a route. It belongs to nobody (RFC 5737).
    private static let elsewhere = "192.0.2.1"

    /// Its host name; nil if it has none but `localhost`.
    let hostName: String?
    /// Its IPv4 addresses, the one towards the network first. IPv6 addresses may change every day (RFC 8981), so they
    /// are none to make a certificate for.
    let addresses: [String]

    init() {
        var buffer = [CChar](repeating: 0, count: 256)
        let isNamed = gethostname(&buffer, buffer.count - 1) == 0
        let name = LocalNames.text(buffer)
        hostName = isNamed && !name.isEmpty && !name.hasPrefix("localhost") ? name : nil
        let route = LocalNames.route()
        let others = LocalNames.interfaceAddresses().filter { $0 != route }
        addresses = Array(((route.map { [$0] } ?? []) + others).prefix(LocalNames.maximumAddresses))
    }

    /// All of them, for a certificate.
    var all: [String] { (hostName.map { [$0] } ?? []) + addresses }

    /// What senders should use: a full host name, else the address towards the network; nil if there is neither.
    var preferred: String? {
        if let hostName, hostName.contains(".") { return hostName }
        return addresses.first
    }

    /// Where a daemon listens that all of them reach.
    static func listenAddresses(port: UInt16) -> [String] {
        let hasIPv6 = FileSystem.exists("/proc/net/if_inet6")
        return ["0.0.0.0:\(port)"] + (hasIPv6 ? ["[::]:\(port)"] : [])
    }

    /// The address that packets to other networks would have. A UDP socket that connects sends nothing.
    private static func route() -> String? {
        var address = sockaddr_storage()
        let length = ringwake_ip_address(elsewhere, 9, &address)
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard ringwake_connect(descriptor, &address, length) == 0, ringwake_local_address(descriptor, &address) == 0
        else { return nil }
        var buffer = [CChar](repeating: 0, count: 64)
        guard ringwake_describe_ip_address(&address, &buffer, buffer.count) == 0 else { return nil }
        let found = text(buffer).prefix { $0 != ":" }
        return found.hasPrefix("127.") ? nil : String(found)
    }

    private static func interfaceAddresses() -> [String] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var found: [String] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ifa_next
            let name = String(cString: entry.ifa_name)
            let flags = Int(entry.ifa_flags)
            guard flags & Int(IFF_UP) != 0, flags & Int(IFF_LOOPBACK) == 0,
                !privateInterfaces.contains(where: name.hasPrefix), let address = entry.ifa_addr,
                Int32(address.pointee.sa_family) == AF_INET
            else { continue }
            var buffer = [CChar](repeating: 0, count: 64)
            let length = socklen_t(MemoryLayout<sockaddr_in>.size)
            guard getnameinfo(address, length, &buffer, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST) == 0 else {
                continue
            }
            let text = text(buffer)
            // Link-local: good on one link only, and chosen anew.
            if !text.hasPrefix("169.254."), !found.contains(text) { found.append(text) }
        }
        return found
    }

    private static func text(_ buffer: [CChar]) -> String {
        String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

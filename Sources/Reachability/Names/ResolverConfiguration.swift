internal import FileSystem
internal import Glibc

/// The name servers of resolv.conf(5), which `supportsDNS` is about.
struct ResolverConfiguration: Equatable, Sendable {
    /// Name servers that glibc uses (MAXNS); it ignores the others.
    static let maximumNameServers = 3
    /// Bytes of the file; a longer one counts as unreadable.
    static let maximumSize = 64 << 10
    /// The machine itself, which is asked if the file names no server.
    static let local = IPAddress(ipv4: 0x7f00_0001)

    /// In the order in which they are asked; at least one.
    let nameServers: [IPAddress]

    /// Reads the file. If it is missing or unreadable, the machine itself is asked.
    init(path: String) {
        // glibc does the same with any error (resolv.conf(5)).
        self.init(parsing: (try? FileSystem.read(path, maximumSize: Self.maximumSize)) ?? [])
    }

    /// Reads the `nameserver` lines as glibc does: only at the beginning of a line.
    init(parsing bytes: some Collection<UInt8>) {
        var servers: [IPAddress] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) where servers.count < Self.maximumNameServers {
            if let server = Self.nameServer(of: line) { servers.append(server) }
        }
        nameServers = servers.isEmpty ? [Self.local] : servers
    }

    private static func nameServer(of line: some Collection<UInt8>) -> IPAddress? {
        let keyword = "nameserver".utf8
        guard line.starts(with: keyword) else { return nil }
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let rest = line.dropFirst(keyword.count)
        guard let first = rest.first, isBlank(first) else { return nil }
        let value = rest.drop(while: isBlank).prefix { byte in
            !isBlank(byte) && byte != UInt8(ascii: "#") && byte != UInt8(ascii: ";")
        }
        let text = String(decoding: value, as: UTF8.self)
        return ipv4(text) ?? IPAddress(text)?.reached
    }

    /// All the forms that glibc takes, such as `10.1` for `10.0.0.1`.
    private static func ipv4(_ text: String) -> IPAddress? {
        // inet_addr stops at white space and ignores what follows; glibc refuses it.
        let isPlain = text.utf8.allSatisfy { byte in
            byte == UInt8(ascii: ".") || (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20)
        }
        guard isPlain else { return nil }
        // All ones also means that the text is no address; no name server has it.
        let address = inet_addr(text)
        return address == .max ? nil : IPAddress(ipv4: UInt32(bigEndian: address)).reached
    }
}

import Cryptography

/// The names of a server certificate.
struct ServerNames {
    private let names: [SubjectAlternativeName]
    private let hostName: String?

    init(_ names: [SubjectAlternativeName], hostName: String?) {
        self.names = names
        self.hostName = hostName
    }

    /// Whether senders can use one of the names for a listener at `address`. It errs towards true: DNS isn't asked, and
    /// an address may be translated on the way.
    func suit(listener address: String) -> Bool {
        // A certificate without names is a problem of its own.
        guard !names.isEmpty, case .ip(let bytes) = SubjectAlternativeName(address) else { return true }
        if Self.isLoopback(.ip(bytes)) { return true }
        let isAny = bytes.allSatisfy { $0 == 0 }
        return names.contains { name in
            switch name {
            case .ip(let other): isAny ? !Self.isLoopback(name) : other == bytes
            case .dns(let text): !Self.isLoopback(name) && isPlausible(text.lowercased())
            }
        }
    }

    /// A name that only the local network knows has to be this machine's.
    private func isPlausible(_ name: String) -> Bool {
        let labels = name.split(separator: ".")
        guard let hostName, labels.count < 2 || labels.last == "local" else { return true }
        return labels.first == hostName.lowercased().split(separator: ".").first
    }

    private static func isLoopback(_ name: SubjectAlternativeName) -> Bool {
        switch name {
        case .ip(let address):
            address.count == 4 ? address.first == 127 : address.dropLast().allSatisfy { $0 == 0 } && address.last == 1
        case .dns(let text): text.lowercased() == "localhost" || text.lowercased().hasSuffix(".localhost")
        }
    }
}

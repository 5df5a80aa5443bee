import ControlProtocol
import RingwakeCore

extension LinkPairing {
    /// The port for links, if none is given (the IANA registry: secure-mqtt).
    static let standardPort: UInt16 = 8883

    /// Reads what `ringwake gateway invite` has printed.
    ///
    /// - Parameters:
    ///   - text: `ringwake://HOST:PORT/pair?code=CODE&pin=PIN`, or `HOST` or `HOST:PORT`.
    ///   - code: the code, if `text` is not a link.
    /// - Throws: `invalidRequest`.
    init(invitation text: String, code: String?) throws(RingwakeError) {
        let scheme = "ringwake://"
        guard text.lowercased().hasPrefix(scheme) else {
            guard let code else {
                throw RingwakeError(
                    .invalidRequest, "give the link of an invitation, or the gateway and the code: see --help")
            }
            let (host, port) = try Self.hostAndPort(text[...])
            self.init(host: host, port: port, code: code)
            return
        }
        let parts = text.dropFirst(scheme.count).split(separator: "?", maxSplits: 1)
        let address = parts.first?.split(separator: "/", maxSplits: 1).first
        guard let address, parts.count == 2 else { throw Self.noLink }
        let (host, port) = try Self.hostAndPort(address)
        var values: [Substring: Substring] = [:]
        for item in parts[1].split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1)
            if pair.count == 2 { values[pair[0]] = pair[1] }
        }
        guard let found = values["code"] else { throw Self.noLink }
        self.init(host: host, port: port, code: String(found), pin: values["pin"].map { String($0) })
    }

    private static var noLink: RingwakeError {
        RingwakeError(
            .invalidRequest, "it is no link of an invitation: ringwake://HOST:PORT/pair?code=CODE; copy it whole")
    }

    /// `host`, `host:port`, `[v6]`, `[v6]:port` or a bare IPv6 address.
    private static func hostAndPort(_ text: Substring) throws(RingwakeError) -> (String, UInt16) {
        let wrong = RingwakeError(.invalidRequest, "'\(text)' is not a host, or a host and a port as example.com:8883")
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { throw wrong }
            let host = String(text[text.index(after: text.startIndex)..<end])
            let rest = text[text.index(after: end)...]
            guard !rest.isEmpty else { return (host, standardPort) }
            guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0 else { throw wrong }
            return (host, port)
        }
        let colons = text.count { $0 == ":" }
        guard colons == 1 else {
            guard !text.isEmpty else { throw wrong }
            return (String(text), standardPort)
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, let port = UInt16(parts[1]), port > 0 else { throw wrong }
        return (String(parts[0]), port)
    }
}

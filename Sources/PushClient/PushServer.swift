package import RingwakeCore

/// A push service: its address, the timeouts and the trusted CAs.
package struct PushServer: Equatable, Sendable {
    /// The port of APNs.
    package static let defaultPort: UInt16 = 443

    /// The name in the URL and in the certificate; an address where there is no name.
    package var host: String
    package var port: UInt16
    /// A file of CA certificates in PEM to trust instead of the system's.
    package var caFile: String?
    /// Another address to connect to, to test a host name on a machine without that name.
    package var connectTo: ConnectTo?
    /// Timeout of name look-up, connection and TLS together.
    package var connectTimeout: Duration
    /// Timeout of a push, including its connection.
    package var timeout: Duration

    package init(
        host: String, port: UInt16 = PushServer.defaultPort, caFile: String? = nil, connectTo: ConnectTo? = nil,
        connectTimeout: Duration = .seconds(10), timeout: Duration = .seconds(30)
    ) {
        self.host = host
        self.port = port
        self.caFile = caFile
        self.connectTo = connectTo
        self.connectTimeout = connectTimeout
        self.timeout = timeout
    }

    /// Apple's host for `environment`.
    ///
    /// See "Sending notification requests to APNs".
    package static func appleHost(for environment: PushEnvironment) -> String {
        switch environment {
        case .development: "api.sandbox.push.apple.com"
        case .production: "api.push.apple.com"
        }
    }

    /// `host:port`, an IPv6 address in brackets.
    package var authority: String { "\(PushServer.bracketed(host)):\(port)" }

    /// Whether the push goes to Apple, who gets no fields of ours.
    var isApples: Bool { connectTo == nil && host.lowercased().hasSuffix(".push.apple.com") }

    /// Whether the host is this machine: such a push never goes through a proxy.
    package var isLoopback: Bool {
        host == "localhost" || host == "::1" || host == "[::1]" || host.hasPrefix("127.")
    }

    static func bracketed(_ host: String) -> String {
        host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    }
}

extension PushServer {
    /// One line of libcurl's CURLOPT_CONNECT_TO: connections to `host:port` go to `address:addressPort`.
    package struct ConnectTo: Equatable, Sendable {
        /// The text as libcurl takes it.
        package let text: String

        /// Reads `HOST:PORT:ADDRESS:PORT`. IPv6 addresses are in brackets. An empty HOST or PORT before ADDRESS means
        /// any; an empty ADDRESS or PORT after it means unchanged. Nil for any other text.
        package init?(_ text: String) {
            var parts: [String] = [""]
            var isInBrackets = false
            for character in text {
                switch character {
                case "[": isInBrackets = true
                case "]": isInBrackets = false
                default: break
                }
                if character == ":", !isInBrackets {
                    parts.append("")
                } else {
                    parts[parts.count - 1].append(character)
                }
            }
            guard parts.count == 4, !isInBrackets, !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
                return nil
            }
            for port in [parts[1], parts[3]] where !port.isEmpty {
                guard let number = UInt16(port), number > 0 else { return nil }
            }
            self.text = text
        }
    }
}

/// One complete request.
package struct HTTP1Request: Hashable, Sendable {
    /// The method, as sent.
    package var method: String
    /// The target: a path with its query, or `*`. An absolute URL is reduced to its path (RFC 9112 section 3.2.2).
    package var target: String
    /// The minor version, 0 or 1. An answer to HTTP/1.0 must not be chunked.
    package var minorVersion: Int
    /// The fields in order.
    package var fields: [HTTP1Field]
    package var body: [UInt8]

    package init(method: String, target: String, minorVersion: Int = 1, fields: [HTTP1Field] = [], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.minorVersion = minorVersion
        self.fields = fields
        self.body = body
    }

    /// Whether the client wants to keep the connection open (RFC 9112 section 9.3).
    package var keepAlive: Bool {
        if fields.listContains("close", in: "connection") { return false }
        return minorVersion >= 1 || fields.listContains("keep-alive", in: "connection")
    }

    /// Whether the client asks to go on with another protocol (RFC 9110 section 7.8).
    package func asks(toUpgradeTo name: String) -> Bool {
        minorVersion >= 1 && fields.listContains("upgrade", in: "connection")
            && fields.listContains(name, in: "upgrade")
    }

    /// The values of all fields with this name, in order.
    ///
    /// - Parameter name: the name in lower case.
    package func values(of name: String) -> [String] {
        fields.filter { $0.name == name }.map(\.value)
    }
}

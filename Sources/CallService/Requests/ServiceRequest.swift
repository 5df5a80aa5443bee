package import ControlProtocol
package import RingwakeCore

/// A request of the control API with its sender.
package struct ServiceRequest: Sendable {
    package let id: RequestID
    /// `GET`, `POST`, ...
    package let method: String
    /// The target as it was sent.
    package let target: String
    /// The body's bytes.
    package let body: [UInt8]
    /// The parts of the path after `v1`, percent-decoded.
    package private(set) var parts: [String] = []
    /// The query, percent-decoded.
    package private(set) var query: [String: String] = [:]
    /// All items of the query, for parameters that may be repeated.
    package private(set) var items: [(name: String, value: String)] = []
    /// The sender; a stranger until ``identify(_:_:)``.
    package private(set) var caller = Caller.stranger
    /// The process that made the connection.
    package let peer: ControlPeer
    /// The header `Authorization`.
    private let authorization: String?
    /// The header `User-Agent`.
    private let userAgent: String?

    package init(
        _ id: RequestID, _ method: String, _ target: String, body: [UInt8], authorization: String?,
        userAgent: String? = nil, peer: ControlPeer
    ) {
        self.id = id
        self.method = method
        self.target = target
        self.body = body
        self.authorization = authorization
        self.userAgent = userAgent
        self.peer = peer
    }

    /// The RingwakeKit that sent it; nil: another program. Read when a handler connects, and not for each request.
    package var kit: PeerVersion? { userAgent.flatMap { PeerVersion(userAgent: $0) } }

    /// A parsed request, for tests.
    package init(
        method: String, target: String, parts: [String], query: [String: String] = [:],
        items: [(name: String, value: String)] = [], body: [UInt8] = [], caller: Caller
    ) {
        self.init(
            RequestID(number: 0), method, target, body: body, authorization: nil, peer: ControlPeer(.stranger))
        (self.parts, self.query, self.items, self.caller) = (parts, query, items, caller)
    }

    /// Parses the target.
    package mutating func parse() throws(RingwakeError) {
        guard let path = ControlPath(target) else {
            throw RingwakeError(
                .invalidRequest,
                "\(target) is no path of this API: it begins with a slash, and each '%' in it begins an escape "
                    + "of two hex digits; what the escapes stand for is UTF-8")
        }
        // Where Prometheus and its like look; its format has a version of its own.
        guard path.parts.first == "v1" || path.parts == ["metrics"] else {
            throw RingwakeError(.notFound, "there is nothing at \(target); the paths begin with /v1/")
        }
        parts = path.parts.first == "v1" ? Array(path.parts.dropFirst()) : path.parts
        (query, items) = (path.query, path.items)
    }

    /// Identifies the caller.
    mutating func identify(_ handlers: HandlerRegistry, _ host: HostQueries) throws(RingwakeError) {
        caller = try Caller(peer, authorization: authorization, handlers, hash: host.hash)
    }

    // MARK: - Reading the request

    /// Throws unless the request has this method and only these parameters. A misspelt parameter must not widen the
    /// result.
    package func require(_ method: String, parameters: Set<String> = []) throws(RingwakeError) {
        guard self.method == method else {
            throw RingwakeError(.invalidRequest, "\(target) takes \(method), not \(self.method)")
        }
        guard let unknown = query.keys.filter({ !parameters.contains($0) }).min() else { return }
        let known = parameters.isEmpty ? "no parameter" : parameters.sorted().joined(separator: ", ")
        throw RingwakeError(.invalidRequest, "there is no parameter '\(unknown)' here; it takes \(known)")
    }

    /// The app that the caller is confined to, or the one in the query; nil for all apps.
    package func app() throws(RingwakeError) -> AppID? {
        guard let text = query["app"] else { return try caller.confinedApp(asked: nil) }
        guard let app = AppID(text) else { throw RingwakeError(.invalidRequest, "'\(text)' is not a bundle id") }
        return try caller.confinedApp(asked: app)
    }

    /// The app in the path, if the caller may act for it.
    package func pathApp() throws(RingwakeError) -> AppID {
        guard let app = AppID(parts[1]) else { throw RingwakeError(.notFound, "'\(parts[1])' is not a bundle id") }
        _ = try caller.confinedApp(asked: app)
        return app
    }

    /// One page of a list.
    package struct Page: Equatable, Sendable {
        package var limit: Int
        package var before: Int64?

        package init(limit: Int, before: Int64? = nil) {
            self.limit = limit
            self.before = before
        }
    }

    /// `limit` and `before`.
    package func page() throws(RingwakeError) -> Page {
        let limit = try number("limit", in: 1...Int64(ControlAPI.maximumListLimit))
        return Page(
            limit: limit.map { Int($0) } ?? ControlAPI.defaultListLimit, before: try number("before", in: 1...(.max)))
    }

    /// A parameter that is `true` or `false`; false if it is missing.
    package func flag(_ name: String) throws(RingwakeError) -> Bool {
        switch query[name] {
        case nil, "false": return false
        case "true": return true
        case let text?: throw RingwakeError(.invalidRequest, "'\(name)' is true or false, not '\(text)'")
        }
    }

    /// The number of the first call whose end a reconnecting client may have missed.
    package func since() throws(RingwakeError) -> Int64? { try number("since", in: 1...(.max)) }

    private func number(_ name: String, in range: ClosedRange<Int64>) throws(RingwakeError) -> Int64? {
        guard let text = query[name] else { return nil }
        let isPlain = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isPlain, let number = Int64(text), range.contains(number) else {
            throw RingwakeError(
                .invalidRequest,
                "'\(name)' is a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
        }
        return number
    }

    /// The body as a message; `empty` if there is no body.
    package func decode<Message: Decodable>(_ type: Message.Type, empty: Message?) throws(RingwakeError) -> Message {
        try ControlBody.decode(type, from: body, empty: empty)
    }
}

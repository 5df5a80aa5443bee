internal import ControlProtocol
internal import Reachability
internal import RingwakeCore

/// One control request, with who sent it and its target taken apart.
nonisolated struct ControlRequest {
    /// `GET`, `POST`, ...
    let method: String
    /// The target as it was sent, for messages.
    let target: String
    /// The parts of the path after `v1`, percent-decoded.
    let parts: [String]
    /// The query, percent-decoded.
    let query: [String: String]
    /// All items of the query, for a parameter that may be there repeatedly.
    var items: [(name: String, value: String)] = []
    /// The body's bytes.
    let body: [UInt8]
    /// Who sent it.
    let caller: ControlCaller
    /// The process that sent it; nil where the kernel does not say.
    var peer: Int32?

    /// Throws unless the request has this method, and no parameter but these: one that is misspelt must not widen
    /// what is asked for.
    func require(_ method: String, parameters: Set<String> = []) throws(RingwakeError) {
        guard self.method == method else {
            throw RingwakeError(.invalidRequest, "\(target) takes \(method), not \(self.method)")
        }
        guard let unknown = query.keys.filter({ !parameters.contains($0) }).min() else { return }
        let known = parameters.isEmpty ? "no parameter" : parameters.sorted().joined(separator: ", ")
        throw RingwakeError(.invalidRequest, "there is no parameter '\(unknown)' here; it takes \(known)")
    }

    /// The app that the caller is confined to, or that it asks for; nil for all apps.
    func app() throws(RingwakeError) -> AppID? {
        guard let text = query["app"] else { return try caller.confinedApp(asked: nil) }
        guard let app = AppID(text) else { throw RingwakeError(.invalidRequest, "'\(text)' is not a bundle id") }
        return try caller.confinedApp(asked: app)
    }

    /// The destinations that are asked about, each once: `any` where none is named.
    func targets() throws(RingwakeError) -> [ReachabilityTarget] {
        var targets: [ReachabilityTarget] = []
        for (name, text) in items where name == "target" {
            guard let target = ReachabilityTarget(text) else {
                throw RingwakeError(.invalidRequest, "'\(text)' is no target; \(ReachabilityTarget.forms)")
            }
            if targets.contains(target) { continue }
            guard targets.count < ControlAPI.maximumTargets else {
                throw RingwakeError(
                    .invalidRequest,
                    "more targets are named than the \(ControlAPI.maximumTargets) that one request takes")
            }
            targets.append(target)
        }
        return targets.isEmpty ? [.any] : targets
    }

    /// Which part of a list is asked for.
    struct Page: Equatable {
        var limit: Int
        var before: Int64?
    }

    /// `limit` and `before`.
    func page() throws(RingwakeError) -> Page {
        let limit = try number("limit", in: 1...Int64(ControlAPI.maximumListLimit))
        return Page(
            limit: limit.map { Int($0) } ?? ControlAPI.defaultListLimit, before: try number("before", in: 1...(.max)))
    }

    /// A parameter that is `true` or `false`; false when it is left out.
    func flag(_ name: String) throws(RingwakeError) -> Bool {
        switch query[name] {
        case nil, "false": return false
        case "true": return true
        case let text?: throw RingwakeError(.invalidRequest, "'\(name)' is true or false, not '\(text)'")
        }
    }

    /// The number of the first call that a client which comes again has not heard the end of.
    func since() throws(RingwakeError) -> Int64? { try number("since", in: 1...(.max)) }

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

    /// The body as a message; `empty` where there is none.
    func decode<Message: Decodable>(_ type: Message.Type, empty: Message?) throws(RingwakeError) -> Message {
        try ControlBody.decode(type, from: body, empty: empty)
    }
}

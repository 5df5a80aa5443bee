internal import ControlProtocol

/// Requests to the daemon, as functions that wait for the answer.
struct DaemonRequests: Sendable {
    let queue: ClientQueue

    var app: String { queue.app }

    /// Runs `body` on the client's thread.
    /// - Returns: its result; nil if the client is closed.
    func onThread<Value: Sendable>(_ body: @escaping @Sendable (SessionDriver) -> Value) async -> Value? {
        await withCheckedContinuation { continuation in
            if !queue.post({ continuation.resume(returning: body($0)) }) { continuation.resume(returning: nil) }
        }
    }

    /// The answer, whatever its status.
    /// - Throws: `limitReached`, `timedOut`, `unreachable`, `daemonNotRunning`, `closed`.
    func reply(to request: RequestQueue.Request) async throws(RingwakeKitError) -> RequestQueue.Reply {
        guard queue.beginRequest() else {
            throw RingwakeKitError(
                .limitReached, "\(TransportLimits.requests) requests wait for the daemon already; wait for answers")
        }
        defer { queue.endRequest() }
        let result: Result<RequestQueue.Reply, RingwakeKitError> = await withCheckedContinuation { continuation in
            let isPosted = queue.post { driver in
                driver.make(request) { continuation.resume(returning: $0) }
            }
            if !isPosted { continuation.resume(returning: .failure(.isClosed)) }
        }
        return try result.get()
    }

    /// The daemon's answer to a request.
    /// - Throws: the daemon's refusal, or as ``reply(to:)``.
    func answer<Message: Decodable>(to request: RequestQueue.Request) async throws(RingwakeKitError) -> Message {
        let answer = try await reply(to: request).answer
        guard answer.status == 200 else { throw RingwakeKitError(answer) }
        return try JSONText.read(answer.body, "the answer to \(request.message.method) \(request.message.target)")
    }

    /// The daemon's answer to a user's request.
    /// - Throws: As ``answer(to:)``.
    func user<Message: Decodable>(
        _ method: String, _ target: RequestTarget, _ body: (some Encodable)?, isRepeatable: Bool = false
    ) async throws(RingwakeKitError) -> Message {
        var bytes: [UInt8]? = method == "POST" ? [] : nil
        if let body { bytes = controlJSON(body) }
        return try await answer(
            to: RequestQueue.Request(.user, method, target, body: bytes, isRepeatable: isRepeatable))
    }

    func user<Message: Decodable>(
        _ method: String, _ target: RequestTarget
    ) async throws(RingwakeKitError) -> Message {
        try await user(method, target, nil as ActionResult?)
    }
}

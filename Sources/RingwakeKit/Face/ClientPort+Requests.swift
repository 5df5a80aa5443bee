internal import ControlProtocol

// Requests as functions that wait for their answer.
extension ClientPort {
    /// Runs `body` on the client's thread.
    /// - Returns: What it returns; nil when the client is closed.
    func onThread<Value: Sendable>(_ body: @escaping @Sendable (ClientCore) -> Value) async -> Value? {
        await withCheckedContinuation { continuation in
            if !post({ continuation.resume(returning: body($0)) }) { continuation.resume(returning: nil) }
        }
    }

    /// The answer, whatever its status.
    /// - Throws: `limitReached`, `timedOut`, `unreachable`, `daemonNotRunning`, `closed`.
    func reply(to request: RequestDesk.Request) async throws(RingwakeKitError) -> RequestDesk.Reply {
        guard beginRequest() else {
            throw RingwakeKitError(
                .limitReached, "\(TransportLimits.requests) requests wait for the daemon already; wait for answers")
        }
        defer { endRequest() }
        let result: Result<RequestDesk.Reply, RingwakeKitError> = await withCheckedContinuation { continuation in
            let isPosted = post { core in
                core.make(request) { continuation.resume(returning: $0) }
            }
            if !isPosted { continuation.resume(returning: .failure(.isClosed)) }
        }
        return try result.get()
    }

    /// What the daemon answers a user's request with.
    /// - Throws: The daemon's refusal, or as ``reply(to:)``.
    func ask<Message: Decodable>(
        _ method: String, _ target: RequestTarget, _ body: (some Encodable)?, isRepeatable: Bool = false
    ) async throws(RingwakeKitError) -> Message {
        var bytes: [UInt8]? = method == "POST" ? [] : nil
        if let body { bytes = try JSONText.write(body) }
        return try await ask(
            RequestDesk.Request(.user, method, target, body: bytes, isRepeatable: isRepeatable))
    }

    func ask<Message: Decodable>(
        _ method: String, _ target: RequestTarget, isRepeatable: Bool = false
    ) async throws(RingwakeKitError) -> Message {
        try await ask(method, target, nil as ActionResult?, isRepeatable: isRepeatable)
    }

    func ask<Message: Decodable>(_ request: RequestDesk.Request) async throws(RingwakeKitError) -> Message {
        let answer = try await reply(to: request).answer
        guard answer.status == 200 else { throw RingwakeKitError(answer) }
        return try JSONText.read(answer.body, "the answer to \(request.method) \(request.target)")
    }
}

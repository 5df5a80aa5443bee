import RingwakeKit
import Synchronization

/// A daemon that does nothing but what the test says: it holds what a client asks for until the test answers.
final class ScriptedDaemon: Sendable {
    /// What the client asks for.
    enum Asked: Sendable {
        case stream(UInt64, ControlRequest)
        case closedStream(UInt64)
        case request(UInt64, ControlRequest)
        case cancelled(UInt64)
    }

    private struct State {
        var queue: ClientQueue?
        var stream: UInt64 = 0
        /// Requests of the client's own that no test is about.
        var passed: [String] = []
    }

    private let state = Mutex(State())
    private let asked: AsyncStream<Asked>
    private let continuation: AsyncStream<Asked>.Continuation

    init() {
        (asked, continuation) = AsyncStream.makeStream(of: Asked.self, bufferingPolicy: .bufferingOldest(4_096))
    }

    /// A client of this daemon, which is being connected.
    func client(_ change: (inout RingwakeClient.Configuration) -> Void = { _ in }) throws -> RingwakeClient {
        var configuration = RingwakeClient.Configuration(app: "com.example.phone", socketPath: "/nowhere")
        configuration.firstRetry = .milliseconds(1)
        configuration.lastRetry = .milliseconds(1)
        change(&configuration)
        return try RingwakeClient(configuration) { [self] queue throws(RingwakeKitError) in
            state.withLock { $0.queue = queue }
            return Transport(continuation)
        }
    }

    func tell(_ event: TransportEvent) {
        state.withLock { $0.queue }?.deliver(event)
    }

    // MARK: - The stream

    /// Waits until the client asks for its stream, and greets it.
    @discardableResult
    func greet(_ lines: String...) async throws -> ControlRequest {
        while true {
            if case .stream(let number, let request) = try await next() {
                state.withLock { $0.stream = number }
                tell(.streamOpened(number))
                say(hello())
                for line in lines { say(line) }
                return request
            }
        }
    }

    func say(_ line: String) { say(line, on: state.withLock { $0.stream }) }

    func endStream() { endStream(state.withLock { $0.stream }) }

    // MARK: - Other streams

    /// Waits until the client asks for the stream of this target.
    func stream(_ target: String) async throws -> (number: UInt64, request: ControlRequest) {
        while true {
            if case .stream(let number, let request) = try await next(), request.target == target {
                return (number, request)
            }
        }
    }

    func say(_ line: String, on stream: UInt64) { tell(.streamLine(stream, Array(line.utf8))) }

    func endStream(_ stream: UInt64) { tell(.streamEnded(stream, RingwakeKitError(.unreachable, "gone"))) }

    // MARK: - Requests

    /// The next request whose method and target begin so; others that come before it are passed over.
    func request(_ beginning: String) async throws -> (number: UInt64, request: ControlRequest) {
        while true {
            guard case .request(let number, let request) = try await next() else { continue }
            if (request.method + " " + request.target).hasPrefix(beginning) { return (number, request) }
        }
    }

    /// The next thing that is asked for.
    func next() async throws -> Asked {
        var iterator = asked.makeAsyncIterator()
        guard let next = await iterator.next() else { throw CancellationError() }
        return next
    }

    func answer(_ number: UInt64, _ body: String, status: Int = 200) {
        tell(.answered(number, ControlAnswer(status: status, body: Array(body.utf8))))
    }

    func refuse(_ number: UInt64, _ status: Int, _ error: String) {
        answer(number, #"{"error":"\#(error)","message":"because","schema":1}"#, status: status)
    }

    func lose(_ number: UInt64, wasSent: Bool) {
        tell(.failed(number, RingwakeKitError(.unreachable, "broke off"), wasSent: wasSent))
    }

    private final class Transport: ControlTransport {
        private let continuation: AsyncStream<Asked>.Continuation

        init(_ continuation: AsyncStream<Asked>.Continuation) { self.continuation = continuation }

        func openStream(_ number: UInt64, _ request: ControlRequest) { continuation.yield(.stream(number, request)) }
        func closeStream(_ number: UInt64) { continuation.yield(.closedStream(number)) }
        func send(_ number: UInt64, _ request: ControlRequest) { continuation.yield(.request(number, request)) }
        func cancel(_ number: UInt64) { continuation.yield(.cancelled(number)) }
        func close() { continuation.finish() }
    }
}

/// A call as the daemon answers with it.
func callMessage(
    _ state: String, reason: String? = nil, restriction: String? = nil, pending: [String] = [], call: String = "c1"
) -> String {
    let reason = reason.map { #""reason":"\#($0)","# } ?? ""
    let restriction = restriction.map { #""restriction":{"detail":"until 7","kind":"\#($0)"},"# } ?? ""
    let owed = pending.map { #"{"action":"\#($0)","deadlineMs":9000}"# }.joined(separator: ",")
    return #"{"pushId":"a","app":"com.example.phone","attempt":1,"call":"\#(call)","environment":"production","#
        + #""missed":false,"muted":false,"pending":[\#(owed)],\#(reason)\#(restriction)"receivedAt":"t","#
        + #""ringer":"app","schema":1,"state":"\#(state)","team":"T","timeline":[],"topic":"t","video":false}"#
}

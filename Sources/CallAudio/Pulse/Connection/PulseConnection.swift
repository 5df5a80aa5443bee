internal import CRingwakePulse
internal import Glibc
internal import RunLoop

/// One connection to an audio server: a context of libpulse, and its unanswered requests.
///
/// Its callbacks run within libpulse: they may send requests, but end nothing. The owner ends it from the loop.
final class PulseConnection {
    /// Why it ended, or failed.
    struct End {
        /// `pa_context_errno`.
        let code: UInt32
        var message: String { PulseConnection.message(code) }
    }

    /// Called when the server has accepted us.
    var onReady: (() -> Void)?
    /// Called once when the connection has ended, and not after ``close()``.
    var onEnd: ((End) -> Void)?
    /// Called when the object of this kind and index has changed.
    var onChange: ((PulseObjectKind, UInt32, _ isRemoved: Bool) -> Void)?
    /// Called when the server has stored something for a kind of streams, after ``subscribeToStored(completion:)``.
    var onStored: (() -> Void)?

    private let mainLoop: PulseMainLoop
    private(set) var context: OpaquePointer?
    /// By number, in their order.
    private var requests: [UInt64: PulseRequest] = [:]
    private var lastRequest: UInt64 = 0
    private var hasEnded = false

    /// Unanswered requests.
    var openRequests: Int { requests.count }

    /// The server's address in libpulse's form: `unix:/run/user/1000/pulse/native`.
    var server: String? { context.flatMap { PulseText.name(pa_context_get_server($0)) } }

    /// Our index in the server's list of clients; nil where it is unknown.
    var clientIndex: UInt32? {
        context.map { pa_context_get_index($0) }.flatMap { $0 == PulseReading.noIndex ? nil : $0 }
    }

    init(mainLoop: PulseMainLoop) {
        self.mainLoop = mainLoop
    }

    deinit { close() }

    /// Begins to connect; the callbacks report the result.
    /// - Returns: Why it can't even begin; nil if it has begun.
    func connect(to server: String?, as name: String) -> End? {
        guard let context = pa_context_new(mainLoop.api, name) else { return End(code: Self.code(PA_ERR_INTERNAL)) }
        self.context = context
        let userdata = Unmanaged.passUnretained(self).toOpaque()
        pa_context_set_state_callback(
            context, { _, userdata in PulseConnection.of(userdata)?.stateChanged() }, userdata)
        pa_context_set_subscribe_callback(
            context, { _, type, index, userdata in PulseConnection.of(userdata)?.happened(type, index) }, userdata)
        pa_ext_stream_restore_set_subscribe_cb(context, { PulseConnection.of($1)?.onStored?() }, userdata)
        guard pa_context_connect(context, server, PA_CONTEXT_NOAUTOSPAWN, nil) < 0 else { return nil }
        // The state callback may have reported it already.
        guard !hasEnded else { return nil }
        hasEnded = true
        return End(code: UInt32(bitPattern: pa_context_errno(context)))
    }

    /// Ends it. Never from within libpulse. Idempotent.
    /// - Parameter failure: The result of open requests, in their order; nil: their completions are dropped.
    func close(failing failure: AudioServerFailure? = nil) {
        hasEnded = true
        guard let context else { return }
        self.context = nil
        let open = requests.sorted { $0.key < $1.key }.map(\.value)
        requests = [:]
        for request in open { request.cancel() }
        pa_context_set_state_callback(context, nil, nil)
        pa_context_set_subscribe_callback(context, nil, nil)
        pa_ext_stream_restore_set_subscribe_cb(context, nil, nil)
        pa_context_disconnect(context)
        pa_context_unref(context)
        if let failure { for request in open { request.completion(failure) } }
    }

    /// Whether the last failure was that the server lacks the extension.
    var isExtensionMissing: Bool {
        context.map { UInt32(bitPattern: pa_context_errno($0)) } == Self.code(PA_ERR_NOEXTENSION)
    }

    /// Ends it because the server no longer works.
    func fail(_ code: pa_error_code_t) {
        end(End(code: Self.code(code)))
    }

    // MARK: - Callbacks of libpulse

    private static func of(_ userdata: UnsafeMutableRawPointer?) -> PulseConnection? {
        userdata.map { Unmanaged<PulseConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    private func stateChanged() {
        guard let context else { return }
        switch pa_context_get_state(context) {
        case PA_CONTEXT_READY: onReady?()
        case PA_CONTEXT_FAILED: end(End(code: UInt32(bitPattern: pa_context_errno(context))))
        case PA_CONTEXT_TERMINATED: end(End(code: Self.code(PA_ERR_CONNECTIONTERMINATED)))
        default: break
        }
    }

    private func end(_ end: End) {
        guard !hasEnded else { return }
        hasEnded = true
        onEnd?(end)
    }

    private func happened(_ type: pa_subscription_event_type_t, _ index: UInt32) {
        guard let kind = PulseObjectKind(facility: type.rawValue & PA_SUBSCRIPTION_EVENT_FACILITY_MASK.rawValue)
        else { return }
        let what = type.rawValue & PA_SUBSCRIPTION_EVENT_TYPE_MASK.rawValue
        onChange?(kind, index, what == PA_SUBSCRIPTION_EVENT_REMOVE.rawValue)
    }

    // MARK: - Requests

    /// Sends a request to the server.
    ///
    /// - Parameters:
    ///   - what: For messages: `moving stream 5 to speakers`.
    ///   - item: Called for each part of the answer, with libpulse's struct.
    ///   - completion: Called once, within libpulse or from the loop, unless the connection ends before.
    ///   - start: Makes the operation; nil where libpulse refuses it.
    func request(
        _ what: @autoclosure () -> String, item: ((UnsafeRawPointer) -> Void)? = nil,
        completion: @escaping (AudioServerFailure?) -> Void,
        _ start: (OpaquePointer, UnsafeMutableRawPointer) -> OpaquePointer?
    ) {
        guard let context, !hasEnded else {
            let failure = AudioServerFailure(.lost, "\(what()): the audio server is gone")
            return mainLoop.runLoop.enqueue { completion(failure) }
        }
        lastRequest += 1
        let request = PulseRequest(connection: self, number: lastRequest, item: item, completion: completion)
        requests[request.number] = request
        guard let operation = start(context, request.userdata) else {
            requests[request.number] = nil
            let failure = self.failure(what())
            return mainLoop.runLoop.enqueue { completion(failure) }
        }
        request.operation = operation
        request.what = what()
    }

    /// libpulse's last failure.
    fileprivate func failure(_ what: String) -> AudioServerFailure {
        let code = context.map { UInt32(bitPattern: pa_context_errno($0)) } ?? Self.code(PA_ERR_CONNECTIONTERMINATED)
        let kind: AudioServerFailure.Kind =
            switch pa_error_code(rawValue: code) {
            case PA_ERR_NOENTITY: .notFound
            case PA_ERR_TIMEOUT, PA_ERR_CONNECTIONTERMINATED, PA_ERR_KILLED, PA_ERR_BADSTATE: .lost
            default: .refused
            }
        return AudioServerFailure(kind, "\(what): \(Self.message(code))")
    }

    fileprivate func finish(_ request: PulseRequest, succeeded: Bool) {
        guard requests.removeValue(forKey: request.number) != nil else { return }
        let failure = succeeded ? nil : failure(request.what)
        request.release()
        request.completion(failure)
        // The result is unknown, and every other request would also wait until the timeout.
        if let failure, failure.kind == .lost { fail(PA_ERR_TIMEOUT) }
    }

    private static func code(_ code: pa_error_code_t) -> UInt32 { code.rawValue }

    static func message(_ code: UInt32) -> String {
        PulseText.name(pa_strerror(Int32(bitPattern: code))) ?? "error \(code)"
    }
}

/// One request, until its answer is complete.
final class PulseRequest {
    private unowned let connection: PulseConnection
    fileprivate let number: UInt64
    fileprivate let completion: (AudioServerFailure?) -> Void
    private let item: ((UnsafeRawPointer) -> Void)?
    fileprivate var operation: OpaquePointer?
    fileprivate var what = ""

    init(
        connection: PulseConnection, number: UInt64, item: ((UnsafeRawPointer) -> Void)?,
        completion: @escaping (AudioServerFailure?) -> Void
    ) {
        self.connection = connection
        self.number = number
        self.item = item
        self.completion = completion
    }

    fileprivate var userdata: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    fileprivate func release() {
        if let operation { pa_operation_unref(operation) }
        operation = nil
    }

    fileprivate func cancel() {
        if let operation { pa_operation_cancel(operation) }
        release()
    }

    private static func of(_ userdata: UnsafeMutableRawPointer?) -> PulseRequest? {
        userdata.map { Unmanaged<PulseRequest>.fromOpaque($0).takeUnretainedValue() }
    }

    /// For `pa_context_success_cb_t`.
    static func acknowledged(_ userdata: UnsafeMutableRawPointer?, _ success: Int32) {
        guard let request = of(userdata) else { return }
        request.connection.finish(request, succeeded: success != 0)
    }

    /// For the callbacks of lists: items, then the end, which is negative for a failure.
    static func received(_ userdata: UnsafeMutableRawPointer?, _ info: UnsafeRawPointer?, _ end: Int32) {
        guard let request = of(userdata) else { return }
        if end == 0 {
            if let info { request.item?(info) }
        } else {
            request.connection.finish(request, succeeded: end > 0)
        }
    }

    /// For answers of one item without an end; nil is a failure.
    static func received(_ userdata: UnsafeMutableRawPointer?, _ info: UnsafeRawPointer?) {
        guard let request = of(userdata) else { return }
        if let info { request.item?(info) }
        request.connection.finish(request, succeeded: info != nil)
    }
}

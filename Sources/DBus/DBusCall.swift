import RunLoop

/// A method call that waits for its reply. Releasing this object doesn't end the call.
package final class DBusCall {
    package typealias Completion = (Result<[DBusValue], DBusError>) -> Void

    fileprivate var completion: Completion?
    fileprivate var timer: Timer?
    /// The serial number of the message; nil until it is sent.
    fileprivate var cookie: UInt64?
    fileprivate var message: Message?
    fileprivate let expectsReply: Bool
    private weak var connection: DBusConnection?

    /// - Parameter completion: Nil for a call that wants no reply.
    init(connection: DBusConnection?, completion: Completion?) {
        self.connection = connection
        expectsReply = completion != nil
        self.completion = completion
    }

    /// Ends the wait for the reply: a later reply is dropped, and its descriptors are closed. If the call was sent,
    /// the other side executes it nevertheless. Idempotent.
    package func cancel() {
        completion = nil
        guard let connection else { return }
        connection.calls.forget(self, connection.runLoop)
    }

    /// Completes the call, unless it was completed or cancelled.
    func complete(_ result: Result<[DBusValue], DBusError>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }
}

/// The calls of one connection that wait.
final class CallTable {
    /// Sent, by serial number.
    private var sent: [UInt64: DBusCall] = [:]
    /// Not sent yet, in order: the bus has not answered.
    private var waiting: [DBusCall] = []

    var count: Int { sent.count + waiting.count }

    fileprivate func add(_ call: DBusCall) {
        if let cookie = call.cookie { sent[cookie] = call } else { waiting.append(call) }
    }

    fileprivate func forget(_ call: DBusCall, _ runLoop: RunLoop) {
        if let timer = call.timer { runLoop.cancel(timer) }
        call.timer = nil
        call.message = nil
        if let cookie = call.cookie, sent[cookie] === call {
            sent[cookie] = nil
        } else {
            waiting.removeAll { $0 === call }
        }
    }

    /// - Parameter result: evaluated only if a call waits for it.
    func complete(_ cookie: UInt64, _ runLoop: RunLoop, _ result: () -> Result<[DBusValue], DBusError>) {
        // A reply to a call that timed out or was cancelled, or that was never made.
        guard let call = sent[cookie] else { return }
        forget(call, runLoop)
        call.complete(result())
    }

    func sendWaiting(over connection: DBusConnection) {
        let calls = waiting
        waiting = []
        for call in calls { connection.dispatch(call) }
    }

    func failAll(_ error: DBusError, _ runLoop: RunLoop) {
        let calls = waiting + sent.values.sorted { ($0.cookie ?? 0) < ($1.cookie ?? 0) }
        for call in calls { forget(call, runLoop) }
        for call in calls { call.complete(.failure(error)) }
    }

    func removeAll(_ runLoop: RunLoop) {
        let calls = waiting + Array(sent.values)
        for call in calls {
            forget(call, runLoop)
            call.completion = nil
        }
    }
}

extension DBusConnection {
    /// Calls a method.
    ///
    /// - Parameters:
    ///   - allowAutoStart: whether the bus starts the service if it can and nobody has the name.
    ///   - timeout: timeout of the reply, including the time to connect. Time in which the machine is suspended
    ///     doesn't count.
    ///   - completion: called with the reply's arguments or an error, once, from the loop; not after `cancel` or
    ///     `close`. The error's name is the service's, or `noReply`, `disconnected`, `noServer`, `invalidArguments`,
    ///     `limitsExceeded`.
    @discardableResult
    package func call(
        destination: String, path: String, interface: String, member: String, arguments: [DBusValue] = [],
        allowAutoStart: Bool = true, timeout: Duration,
        completion: @escaping DBusCall.Completion
    ) -> DBusCall {
        let call = DBusCall(connection: self, completion: completion)
        do throws(DBusError) {
            guard calls.count < DBusLimits.maximumCalls else { throw Self.tooManyCalls }
            let message = try makeCall(
                destination: destination, path: path, interface: interface, member: member, arguments: arguments)
            if !allowAutoStart { message.forbidAutoStart() }
            call.message = message
        } catch {
            later { call.complete(.failure(error)) }
            return call
        }
        let failure = "\(destination) did not answer \(interface).\(member) in \(timeout)"
        arm(call, AwakeTime.now.advanced(by: timeout), failure)
        isOpen ? dispatch(call) : calls.add(call)
        return call
    }

    /// Calls a method whose reply nobody waits for; when the bus goes away first, the call is lost.
    ///
    /// - Returns: Why it cannot be sent: `invalidArguments`, `limitsExceeded`, `disconnected`.
    @discardableResult
    package func send(
        destination: String, path: String, interface: String, member: String, arguments: [DBusValue] = [],
        allowAutoStart: Bool = true
    ) -> DBusError? {
        do throws(DBusError) {
            guard calls.count < DBusLimits.maximumCalls else { throw Self.tooManyCalls }
            let message = try makeCall(
                destination: destination, path: path, interface: interface, member: member, arguments: arguments)
            if !allowAutoStart { message.forbidAutoStart() }
            guard !isOpen else {
                _ = try send(message, expectingReply: false)
                return nil
            }
            let call = DBusCall(connection: self, completion: nil)
            call.message = message
            calls.add(call)
            return nil
        } catch {
            return error
        }
    }

    private static let tooManyCalls = DBusError(
        name: DBusError.limitsExceeded,
        message: "\(DBusLimits.maximumCalls) calls wait for their reply on the message bus")

    fileprivate func dispatch(_ call: DBusCall) {
        guard let message = call.message else { return }
        call.message = nil
        do throws(DBusError) {
            let cookie = try send(message, expectingReply: call.expectsReply)
            guard call.expectsReply else { return }
            call.cookie = cookie
            calls.add(call)
        } catch {
            calls.forget(call, runLoop)
            later { call.complete(.failure(error)) }
        }
    }

    /// Sets a timer on the loop's clock, which also counts while the machine is suspended. The peer can't answer
    /// then, so the timer is set again for the remaining time.
    private func arm(_ call: DBusCall, _ deadline: AwakeTime, _ failure: String) {
        let rest = AwakeTime.now.duration(to: deadline)
        call.timer = runLoop.schedule(
            at: runLoop.refreshNow().advanced(by: rest), tolerance: rest / 10, wakingFromSuspend: false
        ) { [weak self, weak call] in
            guard let self, let call else { return }
            guard AwakeTime.now.duration(to: deadline) <= .milliseconds(1) else { return arm(call, deadline, failure) }
            calls.forget(call, runLoop)
            call.complete(.failure(DBusError(name: DBusError.noReply, message: failure)))
        }
    }
}

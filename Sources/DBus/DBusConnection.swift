import CRingwakeSystemd
package import Logging
package import RunLoop

/// A client's connection to a message bus, on the run loop.
///
///     let bus = try DBusConnection(address: .system, environment: variables, runLoop: loop, logger: logger)
///     bus.call(
///         destination: "org.freedesktop.login1", path: "/org/freedesktop/login1",
///         interface: "org.freedesktop.login1.Manager", member: "CanSuspend", timeout: .seconds(5)
///     ) { result in print(result) }
///
/// sd-bus does the handshake and the marshalling, behind a gate that limits incoming messages. Replies and signals
/// are matched here, without C callbacks.
///
/// Nothing blocks: `init` only begins to connect, and calls are queued until the bus has answered. Closures are
/// called from the loop, never from within the call that they were passed to, and may call, cancel and close
/// anything. An idle connection has no timer. The owner closes it; nothing is called after ``close()``.
package final class DBusConnection {
    /// The state of a connection.
    enum State {
        /// The bus has not answered yet.
        case opening
        case open
        case closed
    }

    /// Called once when the bus went away or could not be reached, before the pending calls fail. The object is dead
    /// then.
    package var onClose: ((DBusError) -> Void)?
    /// Called once when the bus has answered.
    package var onOpen: (() -> Void)?

    private(set) var state = State.opening
    /// What the bus calls this connection (`:1.42`); nil until it is open.
    package private(set) var uniqueName: String?

    let runLoop: RunLoop
    let logger: Logger
    let calls = CallTable()
    let signals = SignalTable()
    private var transport: Transport?
    /// The owner has closed it.
    private var isShut = false
    private var openingTimer: Timer?

    package var isOpen: Bool { state == .open }
    package var isClosed: Bool { state == .closed }

    /// - Parameters:
    ///   - environment: the variables that ``DBusAddress`` reads.
    ///   - label: Names the bus in the log and in the cause of its wakeups: `system`.
    ///   - openingTimeout: timeout for the bus to answer.
    /// - Throws: `noServer` when nothing listens at the address.
    package init(
        address: DBusAddress, environment: [String: String], runLoop: RunLoop, logger: Logger, label: String = "bus",
        openingTimeout: Duration = .seconds(10)
    ) throws(DBusError) {
        self.runLoop = runLoop
        var logger = logger
        logger[metadataKey: "bus"] = "\(label)"
        self.logger = logger
        let transport = try Transport(endpoints: address.endpoints(environment: environment))
        self.transport = transport
        signals.connection = self
        try transport.watch(on: runLoop, cause: WakeupCause("dbus-\(label)")) { [weak self] in self?.pump() }
        openingTimer = runLoop.schedule(
            at: runLoop.refreshNow().advanced(by: openingTimeout), tolerance: openingTimeout / 10,
            wakingFromSuspend: false
        ) { [weak self] in
            self?.fail(
                DBusError(name: DBusError.noServer, message: "the message bus did not answer in \(openingTimeout)"))
        }
    }

    /// Ends the connection. Neither replies nor signals nor `onClose` come after it. Idempotent.
    package func close() {
        isShut = true
        guard state != .closed else { return }
        tearDown()
        calls.removeAll(runLoop)
        signals.removeAll()
        onClose = nil
        onOpen = nil
    }

    /// Runs `body` from the loop, unless the owner closes the connection before.
    func later(_ body: @escaping () -> Void) {
        let wasShut = isShut
        // Strong: a failed call completes even if its connection is lost and released in between.
        runLoop.enqueue { [self] in
            if isShut == wasShut { body() }
        }
    }

    // MARK: - Signals

    /// Subscribes to signals.
    ///
    /// - Parameters:
    ///   - onReady: called when no signal is missed from then on: then read the state whose changes the signals
    ///     report. Called with an error if the bus refuses, or later, when it has gone away.
    ///   - handler: called with each signal from the owner of the match's sender. Signals whose arguments exceed
    ///     ``DBusLimits`` are dropped.
    @discardableResult
    package func subscribe(
        _ match: DBusMatch, onReady: ((Result<Void, DBusError>) -> Void)? = nil,
        handler: @escaping (DBusSignal) -> Void
    ) -> DBusSubscription {
        signals.subscribe(match, onReady: onReady, handler: handler)
    }

    /// Follows who owns a name; does not start the service.
    ///
    /// - Parameter body: called with the owner's unique name, first when the bus has reported it, then at each
    ///   change; with nil if nobody has the name, and when the bus has gone away.
    @discardableResult
    package func watchName(_ name: String, _ body: @escaping (_ owner: String?) -> Void) -> DBusSubscription {
        signals.watchName(name, body)
    }

    // MARK: - Messages

    /// A method call for ``send(_:expectingReply:)``.
    ///
    /// - Throws: `disconnected`; `invalidArguments` for an invalid name, path or argument.
    func makeCall(
        destination: String, path: String, interface: String, member: String, arguments: [DBusValue]
    ) throws(DBusError) -> Message {
        guard let transport else { throw Self.closedError }
        return try Message(
            bus: transport.bus, destination: destination, path: path, interface: interface, member: member,
            arguments: arguments)
    }

    /// Passes the message to sd-bus, which sends it now or when the socket is writable.
    ///
    /// - Returns: The serial number that the reply names.
    func send(_ message: Message, expectingReply: Bool) throws(DBusError) -> UInt64 {
        guard let transport else { throw Self.closedError }
        guard transport.queuedMessages < DBusLimits.maximumQueuedMessages else {
            throw DBusError(name: DBusError.limitsExceeded, message: "the message bus does not read what is sent to it")
        }
        var cookie: UInt64 = 0
        if !expectingReply { sd_bus_message_set_expect_reply(message.pointer, 0) }
        let result = sd_bus_send(transport.bus, message.pointer, &cookie)
        guard result >= 0 else {
            guard !transport.isOpen else {
                throw DBusError(name: DBusError.failed, message: "cannot be sent: \(String(systemError: result))")
            }
            // Report it from the loop: the caller is in the middle of an operation.
            runLoop.enqueue { [weak self] in self?.pump() }
            throw DBusError(name: DBusError.disconnected, message: String(systemError: result))
        }
        updateInterest()
        return cookie
    }

    /// Handles received messages, but only so many that other sources get their turn.
    private func pump() {
        var messagesLeft = DBusLimits.maximumMessagesPerTurn
        var stepsLeft = DBusLimits.maximumStepsPerTurn
        while let transport {
            stepsLeft -= 1
            // Level-triggered readiness brings the rest in the next turn.
            let step = transport.process(isFeeding: messagesLeft > 0 && stepsLeft > 0)
            if transport.isReady, state == .opening { opened(transport) }
            // The callbacks above may have closed it.
            guard state != .closed else { return }
            switch step {
            case .idle:
                return updateInterest()
            case .progress:
                break
            case .received(let message):
                messagesLeft -= 1
                receive(message, transport)
            case .dropping(let cookie, let bytes):
                messagesLeft -= 1
                drop(cookie, bytes)
            case .failed(let error):
                return fail(error)
            }
        }
    }

    private func opened(_ transport: Transport) {
        state = .open
        uniqueName = transport.uniqueName
        if let openingTimer { runLoop.cancel(openingTimer) }
        openingTimer = nil
        calls.sendWaiting(over: self)
        onOpen?()
        onOpen = nil
    }

    private func receive(_ message: ReceivedMessage, _ transport: Transport) {
        switch message.kind {
        case .reply(let cookie): calls.complete(cookie, runLoop) { message.result() }
        case .signal: signals.deliver(message)
        case .methodCall:
            if transport.queuedMessages < DBusLimits.maximumQueuedMessages { message.refuse() }
        }
    }

    private func drop(_ cookie: UInt64?, _ bytes: UInt64) {
        logger.debug("message dropped: too large", metadata: ["bytes": "\(bytes)"])
        guard let cookie else { return }
        let error = DBusError(
            name: DBusError.limitsExceeded,
            message: "the reply has \(bytes) bytes; at most \(DBusLimits.maximumMessageBytes) are taken")
        calls.complete(cookie, runLoop) { .failure(error) }
    }

    private func updateInterest() {
        do throws(RunLoopError) {
            try transport?.updateInterest()
        } catch {
            runLoop.enqueue { [weak self] in
                self?.fail(DBusError(name: DBusError.disconnected, message: error.description))
            }
        }
    }

    // MARK: - The end

    static let closedError = DBusError(
        name: DBusError.disconnected, message: "the connection to the message bus is closed")

    private func fail(_ error: DBusError) {
        guard state != .closed else { return }
        let wasOpen = state == .open
        tearDown()
        let error = DBusError(name: wasOpen ? DBusError.disconnected : DBusError.noServer, message: error.message)
        logger.debug("message bus lost", metadata: ["error": "\(error)"])
        let onClose = onClose
        self.onClose = nil
        onOpen = nil
        onClose?(error)
        calls.failAll(error, runLoop)
        signals.failAll(error)
    }

    private func tearDown() {
        state = .closed
        if let openingTimer { runLoop.cancel(openingTimer) }
        openingTimer = nil
        transport?.close()
        transport = nil
    }
}

package import Logging
package import RunLoop

/// A message bus that may be absent: connects at the first use, and again at the next use after a loss.
///
///     let systemBus = DBusService(
///         address: .system, environment: variables, runLoop: loop, logger: logger, label: "system")
///     systemBus.watchName("org.freedesktop.ModemManager1") { owner in ... }
///
/// Nothing tries again by itself: there is no timer. Subscriptions and watched names survive the connection: they are
/// notified of its loss, and installed again on the next one. Closures are called from the loop, as with
/// ``DBusConnection``.
package final class DBusService {
    /// The state of the bus.
    package enum Status: Hashable, Sendable {
        /// Not used yet.
        case unused
        case opening
        case open
        /// The last attempt failed, or the connection was lost, with this error.
        case lost(DBusError)
        case closed
    }

    /// Uses within this time of the last attempt fail immediately with its error, so that a use that follows from a
    /// failure doesn't become a busy loop.
    package static let pauseBetweenAttempts = Duration.seconds(1)

    package private(set) var status = Status.unused {
        didSet { if status != oldValue { onChange?(status) } }
    }
    /// Called when the status changes, possibly from within a use.
    package var onChange: ((Status) -> Void)?

    private let address: DBusAddress
    private let environment: [String: String]
    private let runLoop: RunLoop
    private let logger: Logger
    private let label: String
    private let openingTimeout: Duration
    private var connection: DBusConnection?
    private var attemptedAt: AwakeTime?
    private var standing: [Standing] = []

    /// - Parameters: As of ``DBusConnection``.
    package init(
        address: DBusAddress, environment: [String: String], runLoop: RunLoop, logger: Logger, label: String,
        openingTimeout: Duration = .seconds(10)
    ) {
        self.address = address
        self.environment = environment
        self.runLoop = runLoop
        self.logger = logger
        self.label = label
        self.openingTimeout = openingTimeout
    }

    // MARK: - Uses

    /// Calls a method; see ``DBusConnection``'s.
    @discardableResult
    package func call(
        destination: String, path: String, interface: String, member: String, arguments: [DBusValue] = [],
        allowAutoStart: Bool = true, timeout: Duration,
        completion: @escaping DBusCall.Completion
    ) -> DBusCall {
        do throws(DBusError) {
            return try current().call(
                destination: destination, path: path, interface: interface, member: member, arguments: arguments,
                allowAutoStart: allowAutoStart, timeout: timeout,
                completion: completion)
        } catch {
            let call = DBusCall(connection: nil, completion: completion)
            later { call.complete(.failure(error)) }
            return call
        }
    }

    /// Calls a method whose reply nobody waits for; see ``DBusConnection``'s.
    @discardableResult
    package func send(
        destination: String, path: String, interface: String, member: String, arguments: [DBusValue] = [],
        allowAutoStart: Bool = true
    ) -> DBusError? {
        do throws(DBusError) {
            return try current().send(
                destination: destination, path: path, interface: interface, member: member, arguments: arguments,
                allowAutoStart: allowAutoStart)
        } catch {
            return error
        }
    }

    /// See ``DBusConnection/subscribe(_:onReady:handler:)``; `onReady` is called again whenever the bus is lost and
    /// whenever it is back.
    @discardableResult
    package func subscribe(
        _ match: DBusMatch, onReady: ((Result<Void, DBusError>) -> Void)? = nil,
        handler: @escaping (DBusSignal) -> Void
    ) -> DBusSubscription {
        stand(
            Standing {
                $0.subscribe(match, onReady: onReady, handler: handler)
            } refused: {
                onReady?(.failure($0))
            })
    }

    /// See ``DBusConnection/watchName(_:_:)``; calls `body` with nil when the bus is lost.
    @discardableResult
    package func watchName(_ name: String, _ body: @escaping (_ owner: String?) -> Void) -> DBusSubscription {
        stand(
            Standing {
                $0.watchName(name, body)
            } refused: { _ in
                body(nil)
            })
    }

    /// Connects if there is no connection. Call it when the bus is likely to be back.
    ///
    /// - Returns: Why it can't connect.
    @discardableResult
    package func open() -> DBusError? {
        do throws(DBusError) {
            _ = try current()
            return nil
        } catch {
            return error
        }
    }

    /// Ends the connection and every subscription. No closure is called afterwards, and every later use fails.
    package func close() {
        onChange = nil
        connection?.close()
        connection = nil
        for one in standing { one.isCancelled = true }
        standing = []
        status = .closed
    }

    // MARK: - The connection

    private func current() throws(DBusError) -> DBusConnection {
        if let connection { return connection }
        if status == .closed { throw DBusConnection.closedError }
        if let attemptedAt, case .lost(let error) = status,
            attemptedAt.duration(to: .now) < Self.pauseBetweenAttempts
        {
            throw error
        }
        attemptedAt = .now
        let connection: DBusConnection
        do throws(DBusError) {
            connection = try DBusConnection(
                address: address, environment: environment, runLoop: runLoop, logger: logger, label: label,
                openingTimeout: openingTimeout)
        } catch {
            lost(error)
            throw error
        }
        self.connection = connection
        connection.onClose = { [weak self] in self?.lost($0) }
        connection.onOpen = { [weak self] in self?.opened() }
        for one in standing { one.installed = one.install(connection) }
        status = .opening
        return connection
    }

    /// Runs `body` from the loop, unless the owner closes this before.
    private func later(_ body: @escaping () -> Void) {
        let wasClosed = status == .closed
        runLoop.enqueue { [self] in
            if (status == .closed) == wasClosed { body() }
        }
    }

    private func opened() {
        logger.debug("message bus connected", metadata: ["bus": "\(label)"])
        status = .open
    }

    private func lost(_ error: DBusError) {
        connection = nil
        // Logged once, not at each use of an absent bus.
        if case .lost = status {
        } else {
            logger.notice("message bus is not available", metadata: ["bus": "\(label)", "error": "\(error)"])
        }
        status = .lost(error)
    }

    // MARK: - What outlives a connection

    private final class Standing {
        let install: (DBusConnection) -> DBusSubscription
        let refused: (DBusError) -> Void
        var installed: DBusSubscription?
        var isCancelled = false

        init(_ install: @escaping (DBusConnection) -> DBusSubscription, refused: @escaping (DBusError) -> Void) {
            self.install = install
            self.refused = refused
        }
    }

    private func stand(_ one: Standing) -> DBusSubscription {
        do throws(DBusError) {
            // Install it before it is in `standing`, which a new connection installs.
            one.installed = one.install(try current())
        } catch {
            later { if !one.isCancelled { one.refused(error) } }
        }
        standing.append(one)
        return DBusSubscription { [weak self] in
            one.isCancelled = true
            one.installed?.cancel()
            self?.standing.removeAll { $0 === one }
        }
    }
}

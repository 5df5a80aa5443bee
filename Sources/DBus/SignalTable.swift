import Logging

/// The signals and names that one connection watches.
final class SignalTable {
    /// One subscription to signals.
    final class Listener {
        let match: DBusMatch
        let rule: String
        let onReady: ((Result<Void, DBusError>) -> Void)?
        let handler: (DBusSignal) -> Void
        /// The bus has the match rule.
        var isInstalled = false
        /// Whether `onReady` was called; signals are delivered from then on.
        var isReady = false
        var isCancelled = false
        /// Follows who owns the sender's name; nil for a unique name, which is its own.
        var nameObservation: DBusSubscription?
        var owner: NameWatch.Owner

        init(
            match: DBusMatch, rule: String, onReady: ((Result<Void, DBusError>) -> Void)?,
            handler: @escaping (DBusSignal) -> Void
        ) {
            self.match = match
            self.rule = rule
            self.onReady = onReady
            self.handler = handler
            owner = Self.isFixed(match.sender) ? .known(match.sender) : .unknown
        }

        /// The bus itself, and unique names.
        static func isFixed(_ sender: String) -> Bool { sender.hasPrefix(":") || sender == BusInterface.name }

        /// Ends the callbacks.
        func end() {
            isCancelled = true
            nameObservation?.cancel()
            nameObservation = nil
        }

        func isSentByOwner(_ sender: String) -> Bool {
            if case .known(let owner) = owner { owner == sender } else { false }
        }
    }

    /// The connection that owns this, once it is made.
    weak var connection: DBusConnection?
    /// In the order in which they came.
    private var listeners: [Listener] = []
    private var names: [String: NameWatch] = [:]

    func removeAll() {
        for listener in listeners { listener.end() }
        for watch in names.values { watch.observers.removeAll() }
        listeners = []
        names = [:]
    }

    func failAll(_ error: DBusError) {
        let (listeners, names) = (listeners, names)
        self.listeners = []
        self.names = [:]
        for listener in listeners where !listener.isCancelled {
            listener.end()
            listener.onReady?(.failure(error))
        }
        for watch in names.values { watch.set(.failed(error)) }
    }

    // MARK: - Uses

    /// See ``DBusConnection/subscribe(_:onReady:handler:)``.
    func subscribe(
        _ match: DBusMatch, onReady: ((Result<Void, DBusError>) -> Void)?, handler: @escaping (DBusSignal) -> Void
    ) -> DBusSubscription {
        let listener: Listener
        do throws(DBusError) {
            guard isOpen else { throw DBusConnection.closedError }
            listener = .init(match: match, rule: try match.rule(), onReady: onReady, handler: handler)
        } catch {
            return refused { onReady?(.failure(error)) }
        }
        listeners.append(listener)
        install(listener.rule) { [weak self] error in
            listener.isInstalled = error == nil
            self?.settle(listener, error)
        }
        if !Listener.isFixed(match.sender) {
            listener.nameObservation = observe(match.sender) { [weak self] owner in
                listener.owner = owner
                self?.settle(listener, owner.error)
            }
        }
        return DBusSubscription { [weak self] in
            guard !listener.isCancelled else { return }
            self?.drop(listener)
        }
    }

    /// See ``DBusConnection/watchName(_:_:)``.
    func watchName(_ name: String, _ body: @escaping (_ owner: String?) -> Void) -> DBusSubscription {
        guard isOpen, DBusNames.isBusName(name) else { return refused { body(nil) } }
        return observe(name) { owner in
            if case .known(let owner) = owner { body(owner) } else { body(nil) }
        }
    }

    /// A refused subscription, which reports that at the next opportunity.
    private func refused(_ notify: @escaping () -> Void) -> DBusSubscription {
        var notify: (() -> Void)? = notify
        connection?.later { notify?() }
        return DBusSubscription { notify = nil }
    }

    // MARK: - Listeners

    /// Notifies the listener once that it is ready, or why it never will be.
    private func settle(_ listener: Listener, _ error: DBusError?) {
        guard !listener.isCancelled, !listener.isReady else { return }
        if let error {
            drop(listener)
            listener.onReady?(.failure(error))
        } else if listener.isInstalled, listener.owner != .unknown {
            listener.isReady = true
            listener.onReady?(.success(()))
        }
    }

    private func drop(_ listener: Listener) {
        listener.end()
        listeners.removeAll { $0 === listener }
        uninstall(listener.rule)
    }

    func deliver(_ message: ReceivedMessage) {
        let (sender, path, interface, member) = (message.sender, message.path, message.interface, message.member)
        let isOwnerChange =
            sender == BusInterface.name && path == BusInterface.path && interface == BusInterface.name
            && member == "NameOwnerChanged"
        let listeners = listeners.filter { listener in
            listener.isReady && listener.match.accepts(path: path, interface: interface, member: member)
                && listener.isSentByOwner(sender)
        }
        guard isOwnerChange || !listeners.isEmpty else { return }
        guard case .success(let arguments) = message.result() else {
            connection?.logger.debug("unreadable signal dropped", metadata: ["member": "\(interface).\(member)"])
            return
        }
        if isOwnerChange { ownerChanged(arguments) }
        let signal = DBusSignal(sender: sender, path: path, interface: interface, member: member, arguments: arguments)
        for listener in listeners where !listener.isCancelled {
            if let wanted = listener.match.firstArgument {
                guard case .string(wanted) = arguments.first else { continue }
            }
            listener.handler(signal)
        }
    }

    // MARK: - Names

    private func observe(_ name: String, _ body: @escaping (NameWatch.Owner) -> Void) -> DBusSubscription {
        let observer = NameWatch.Observer(body)
        if let watch = names[name] {
            watch.observers.append(observer)
            connection?.later { [weak watch] in
                if let watch { observer.notify(watch.owner) }
            }
        } else {
            startWatching(name, observer)
        }
        return DBusSubscription { [weak self] in
            observer.isCancelled = true
            self?.forget(observer, of: name)
        }
    }

    private func startWatching(_ name: String, _ observer: NameWatch.Observer) {
        // A bus name holds no apostrophe.
        let rule =
            "type='signal',sender='\(BusInterface.name)',path='\(BusInterface.path)',interface='\(BusInterface.name)',"
            + "member='NameOwnerChanged',arg0='\(name)'"
        let watch = NameWatch(rule: rule)
        watch.observers.append(observer)
        names[name] = watch
        install(rule) { [weak self, weak watch] error in
            guard let self, let watch, let error else { return }
            connection?.logger.debug("bus name cannot be watched", metadata: ["name": "\(name)", "error": "\(error)"])
            watch.set(.failed(error))
        }
        // After the rule, so no change is missed; the bus answers in order.
        callBus("GetNameOwner", [.string(name)]) { [weak watch] result in
            guard let watch else { return }
            if case .failed = watch.owner { return }
            switch result {
            case .success(let values): watch.set(.known(values.first?.text))
            case .failure(let error):
                watch.set(error.name == DBusError.nameHasNoOwner ? .known(nil) : .failed(error))
            }
        }
    }

    private func ownerChanged(_ arguments: [DBusValue]) {
        guard arguments.count == 3, let name = arguments[0].text, let owner = arguments[2].text,
            let watch = names[name]
        else { return }
        watch.set(.known(owner.isEmpty ? nil : owner))
    }

    private func forget(_ observer: NameWatch.Observer, of name: String) {
        guard let watch = names[name], watch.observers.contains(where: { $0 === observer }) else { return }
        watch.observers.removeAll { $0 === observer }
        guard watch.observers.isEmpty else { return }
        names[name] = nil
        uninstall(watch.rule)
    }

    // MARK: - The bus

    private func install(_ rule: String, _ completion: @escaping (DBusError?) -> Void) {
        callBus("AddMatch", [.string(rule)]) { result in
            if case .failure(let error) = result { completion(error) } else { completion(nil) }
        }
    }

    /// The bus counts equal rules, so equal rules of other subscriptions stay.
    private func uninstall(_ rule: String) {
        guard isOpen else { return }
        connection?.send(
            destination: BusInterface.name, path: BusInterface.path, interface: BusInterface.name,
            member: "RemoveMatch", arguments: [.string(rule)])
    }

    private func callBus(_ member: String, _ arguments: [DBusValue], _ completion: @escaping DBusCall.Completion) {
        connection?.call(
            destination: BusInterface.name, path: BusInterface.path, interface: BusInterface.name, member: member,
            arguments: arguments, timeout: BusInterface.timeout, completion: completion)
    }

    /// False when the connection is closed, or gone.
    private var isOpen: Bool { connection?.isClosed == false }
}

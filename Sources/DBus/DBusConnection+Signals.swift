import Logging

extension DBusConnection {
    /// Subscribes to signals.
    ///
    /// - Parameters:
    ///   - onReady: Called when no signal is missed from then on: the time to read the state that they tell changes
    ///     of. With an error when the bus refuses, or later, when it has gone away.
    ///   - handler: Gets each signal that the owner of the match's sender sent. Those whose arguments exceed
    ///     ``DBusLimits`` are dropped.
    @discardableResult
    package func subscribe(
        _ match: DBusMatch, onReady: ((Result<Void, DBusError>) -> Void)? = nil,
        handler: @escaping (DBusSignal) -> Void
    ) -> DBusSubscription {
        let listener: SignalTable.Listener
        do throws(DBusError) {
            guard !isClosed else { throw Self.closedError }
            listener = .init(match: match, rule: try match.rule(), onReady: onReady, handler: handler)
        } catch {
            return refused { onReady?(.failure(error)) }
        }
        signals.listeners.append(listener)
        install(listener.rule) { [weak self] error in
            listener.isInstalled = error == nil
            self?.settle(listener, error)
        }
        if !SignalTable.Listener.isFixed(match.sender) {
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

    /// Follows who owns a name; does not start the service.
    ///
    /// - Parameter body: Gets the owner's unique name, first when the bus has said it, then at each change; nil when
    ///   nobody has the name, and when the bus has gone away.
    @discardableResult
    package func watchName(_ name: String, _ body: @escaping (_ owner: String?) -> Void) -> DBusSubscription {
        guard !isClosed, DBusNames.isBusName(name) else { return refused { body(nil) } }
        return observe(name) { owner in
            if case .known(let owner) = owner { body(owner) } else { body(nil) }
        }
    }

    /// A subscription that says at the next opportunity that it is none.
    private func refused(_ tell: @escaping () -> Void) -> DBusSubscription {
        var tell: (() -> Void)? = tell
        later { tell?() }
        return DBusSubscription { tell = nil }
    }

    // MARK: - Listeners

    /// Tells the listener that it is ready, or why it will never be, once.
    private func settle(_ listener: SignalTable.Listener, _ error: DBusError?) {
        guard !listener.isCancelled, !listener.isReady else { return }
        if let error {
            drop(listener)
            listener.onReady?(.failure(error))
        } else if listener.isInstalled, listener.owner != .unknown {
            listener.isReady = true
            listener.onReady?(.success(()))
        }
    }

    private func drop(_ listener: SignalTable.Listener) {
        listener.end()
        signals.listeners.removeAll { $0 === listener }
        uninstall(listener.rule)
    }

    func deliver(_ message: ReceivedMessage) {
        let (sender, path, interface, member) = (message.sender, message.path, message.interface, message.member)
        let isOwnerChange =
            sender == BusInterface.name && path == BusInterface.path && interface == BusInterface.name
            && member == "NameOwnerChanged"
        let listeners = signals.listeners.filter { listener in
            listener.isReady && listener.match.accepts(path: path, interface: interface, member: member)
                && listener.isSentByOwner(sender)
        }
        guard isOwnerChange || !listeners.isEmpty else { return }
        guard case .success(let arguments) = message.result() else {
            return logger.debug("unreadable signal dropped", metadata: ["member": "\(interface).\(member)"])
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
        if let watch = signals.names[name] {
            watch.observers.append(observer)
            later { [weak watch] in
                if let watch { observer.tell(watch.owner) }
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
        signals.names[name] = watch
        install(rule) { [weak self, weak watch] error in
            guard let self, let watch, let error else { return }
            logger.debug("bus name cannot be watched", metadata: ["name": "\(name)", "error": "\(error)"])
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
            let watch = signals.names[name]
        else { return }
        watch.set(.known(owner.isEmpty ? nil : owner))
    }

    private func forget(_ observer: NameWatch.Observer, of name: String) {
        guard let watch = signals.names[name], watch.observers.contains(where: { $0 === observer }) else { return }
        watch.observers.removeAll { $0 === observer }
        guard watch.observers.isEmpty else { return }
        signals.names[name] = nil
        uninstall(watch.rule)
    }

    // MARK: - The bus

    private func install(_ rule: String, _ completion: @escaping (DBusError?) -> Void) {
        callBus("AddMatch", [.string(rule)]) { result in
            if case .failure(let error) = result { completion(error) } else { completion(nil) }
        }
    }

    /// The bus counts equal rules, so the rules of others that are equal stay.
    private func uninstall(_ rule: String) {
        guard !isClosed else { return }
        send(
            destination: BusInterface.name, path: BusInterface.path, interface: BusInterface.name,
            member: "RemoveMatch", arguments: [.string(rule)])
    }

    private func callBus(_ member: String, _ arguments: [DBusValue], _ completion: @escaping DBusCall.Completion) {
        call(
            destination: BusInterface.name, path: BusInterface.path, interface: BusInterface.name, member: member,
            arguments: arguments, timeout: BusInterface.timeout, completion: completion)
    }
}

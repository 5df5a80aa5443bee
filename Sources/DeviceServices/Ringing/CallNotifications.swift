internal import DBus
internal import Logging
internal import RingwakeCore

/// One notification for each call that rings, and one for each that was missed.
///
/// A notification is optional: the call keeps ringing whatever happens to it. So failures are retried only a few
/// times.
final class CallNotifications {
    /// The user pressed Answer or Decline.
    var onAction: ((CallKey, _ isAnswer: Bool) -> Void)?
    /// Called with the error if a notification could not be shown, and with nil if one is shown.
    var onResult: ((String?) -> Void)?
    /// Called when the notifications on the screen have changed.
    var onShown: ((Set<AlertRecord.Shown>) -> Void)?

    /// Maximum calls to show at a time.
    static let maximumCalls = 8
    /// How often one call is shown again because its server left: a server that crashes on it must not be started
    /// forever.
    static let maximumAttempts = 3

    private enum State {
        /// Requested, with this number; it replaces the notification that is shown, if there is one.
        case asked(UInt64, shown: UInt32?)
        case shown(UInt32)
        /// The user has dismissed it.
        case dismissed
        /// It could not be shown, or its server has left.
        case failed
    }

    private struct Entry {
        var call: AlertCall
        var content: NotificationContent
        var state: State
        var attempts = 0

        var id: UInt32? {
            switch state {
            case .asked(_, let shown): shown
            case .shown(let id): id
            case .dismissed, .failed: nil
            }
        }
    }

    private let server: NotificationServer
    private let logger: Logger
    private var entries: [CallKey: Entry] = [:]
    private var requests: UInt64 = 0
    private var pending = 0

    init(bus: DBusService, logger: Logger) {
        server = NotificationServer(bus: bus)
        self.logger = logger
        server.onAction = { [weak self] id, key in self?.acted(id, key) }
        server.onClosed = { [weak self] id, reason in self?.closed(id, reason) }
        server.onLost = { [weak self] in self?.lost() }
        server.onFound = { [weak self] in self?.found() }
    }

    /// Shows these calls, and no other.
    func show(_ calls: [AlertCall], isSilent: Bool) {
        let wanted = calls.prefix(Self.maximumCalls)
        let keys = Set(wanted.map(\.key))
        for (key, entry) in entries where !keys.contains(key) {
            entries[key] = nil
            if let id = entry.id { server.withdraw(id) }
        }
        for call in wanted {
            let content = NotificationContent(of: call, isSilent: isSilent)
            guard let entry = entries[call.key] else {
                entries[call.key] = Entry(call: call, content: content, state: .failed)
                ask(call.key)
                continue
            }
            guard entry.content != content else { continue }
            entries[call.key]?.content = content
            // A requested notification is compared again when the answer arrives.
            if case .shown = entry.state { ask(call.key) }
        }
        settle()
    }

    /// Shows that a call was missed.
    /// - Parameters:
    ///   - time: when it arrived, seconds since 1970.
    ///   - now: the current time, seconds since 1970.
    func showMissed(_ call: AlertCall, at time: Int64, now: Int64) {
        pending += 1
        server.show(NotificationContent(ofMissed: call, at: time, now: now), replacing: 0) { [weak self] result in
            guard let self else { return }
            self.pending -= 1
            self.report(result)
            self.settle()
        }
    }

    /// Withdraws the notifications of a former daemon.
    func withdraw(_ leftover: [AlertRecord.Shown]) {
        for shown in leftover.prefix(Self.maximumCalls) { server.withdraw(shown.id, from: shown.owner) }
    }

    private func ask(_ key: CallKey) {
        guard let entry = entries[key] else { return }
        requests &+= 1
        let request = requests
        entries[key]?.state = .asked(request, shown: entry.id)
        pending += 1
        server.show(entry.content, replacing: entry.id ?? 0) { [weak self] result in
            guard let self else { return }
            self.pending -= 1
            self.report(result)
            self.answered(key, request, entry.content, result)
            self.settle()
        }
    }

    private func answered(
        _ key: CallKey, _ request: UInt64, _ content: NotificationContent, _ result: Result<UInt32, DBusError>
    ) {
        guard let entry = entries[key], case .asked(request, _) = entry.state else {
            // The call no longer rings, or was shown again: this late notification must not stay.
            if case .success(let id) = result, !entries.values.contains(where: { $0.id == id }) { server.withdraw(id) }
            return
        }
        switch result {
        case .success(let id):
            entries[key]?.state = .shown(id)
            if entry.content != content { ask(key) }
        case .failure(let error):
            entries[key]?.state = .failed
            if error == NotificationServer.replaced { again(key) }
        }
    }

    private func report(_ result: Result<UInt32, DBusError>) {
        switch result {
        case .success: onResult?(nil)
        case .failure(let error):
            let what = error.isServiceAbsent ? "no notification server is there" : "a call could not be shown"
            onResult?("\(what): \(error)")
        }
    }

    private func acted(_ id: UInt32, _ key: String) {
        guard let entry = entries.values.first(where: { $0.id == id }) else { return }
        // Accept only offered actions: a server may let the user press a button of the previous version.
        guard entry.content.actions.contains(where: { $0.key == key }) else { return }
        logger.info(
            "a button of a notification was pressed", metadata: ["call": "\(entry.call.key)", "button": "\(key)"])
        onAction?(entry.call.key, key == NotificationContent.answer)
    }

    private func closed(_ id: UInt32, _ reason: UInt32) {
        guard let (key, _) = entries.first(where: { if case .shown(id) = $0.value.state { true } else { false } })
        else { return }
        // 1 expired, 2 dismissed by the user, 3 closed by us, 4 unknown. It isn't shown again.
        entries[key]?.state = .dismissed
        settle()
    }

    private func lost() {
        for (key, entry) in entries where entry.id != nil {
            // A request in progress fails by itself, or the next server answers it.
            if case .shown = entry.state {
                entries[key]?.state = .failed
                again(key)
            } else if case .asked(let request, _) = entry.state {
                entries[key]?.state = .asked(request, shown: nil)
            }
        }
        settle()
    }

    private func found() {
        for (key, entry) in entries { if case .failed = entry.state { again(key) } }
    }

    private func again(_ key: CallKey) {
        guard let attempts = entries[key]?.attempts, attempts < Self.maximumAttempts else { return }
        entries[key]?.attempts = attempts + 1
        ask(key)
    }

    /// Closes the server's subscriptions if there is nothing to show, so that it causes no wakeups. Records what is
    /// shown.
    private func settle() {
        if let owner = server.owner {
            onShown?(Set(entries.values.compactMap(\.id).map { AlertRecord.Shown(owner: owner, id: $0) }))
        } else if entries.isEmpty {
            onShown?([])
        }
        if entries.isEmpty, pending == 0 { server.close() }
    }
}

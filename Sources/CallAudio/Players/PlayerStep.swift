internal import DBus
internal import RunLoop

/// One question or command for several players. It ends when all have answered, and at its timeout at the latest: a
/// player that hangs delays nothing else.
///
/// Its timer keeps it alive. When it ends, all its calls and subscriptions end with it.
final class PlayerStep {
    let bus: DBusConnection
    private let runLoop: RunLoop
    private let time: Duration
    private let completion: ([MediaPlayer]) -> Void
    private var timers: [Timer] = []
    private var pending: Set<String> = []
    private var found: [String: MediaPlayer] = [:]
    private var calls: [DBusCall] = []
    private var subscriptions: [DBusSubscription] = []
    private(set) var isOver = false

    /// - Parameter completion: called with the players in the order of the keys, once, from the loop.
    init(bus: DBusConnection, runLoop: RunLoop, time: Duration, completion: @escaping ([MediaPlayer]) -> Void) {
        self.bus = bus
        self.runLoop = runLoop
        self.time = time
        self.completion = completion
        after(time) { self.finish() }
    }

    /// Waits for this key.
    func begin(_ key: String) {
        pending.insert(key)
    }

    /// Stores the result so far for this key; it counts if no other follows.
    func note(_ key: String, _ player: MediaPlayer) {
        if !isOver { found[key] = player }
    }

    /// Drops the result for this key.
    func drop(_ key: String) {
        if !isOver { found[key] = nil }
    }

    /// Stops waiting for this key.
    func end(_ key: String) {
        guard !isOver, pending.remove(key) != nil, pending.isEmpty else { return }
        finish()
    }

    /// Runs `body` after this time, unless the step has ended.
    func after(_ delay: Duration, _ body: @escaping () -> Void) {
        timers.append(
            runLoop.schedule(
                at: runLoop.refreshNow().advanced(by: delay), tolerance: .milliseconds(10), wakingFromSuspend: false,
                body))
    }

    /// Calls a method; no completion follows once the step has ended.
    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [DBusValue] = [],
        _ completion: @escaping (Result<[DBusValue], DBusError>) -> Void
    ) {
        guard !isOver else { return }
        calls.append(
            bus.call(
                destination: destination, path: path, interface: interface, member: member, arguments: arguments,
                allowAutoStart: false, timeout: time, completion: completion))
    }

    /// Subscribes until the step ends.
    func subscribe(
        _ match: DBusMatch, onReady: @escaping (Result<Void, DBusError>) -> Void,
        handler: @escaping (DBusSignal) -> Void
    ) {
        guard !isOver else { return }
        subscriptions.append(bus.subscribe(match, onReady: onReady, handler: handler))
    }

    /// Ends it without a completion.
    func cancel() {
        isOver = true
        for timer in timers { runLoop.cancel(timer) }
        for call in calls { call.cancel() }
        for subscription in subscriptions { subscription.cancel() }
        timers = []
        calls = []
        subscriptions = []
    }

    private func finish() {
        guard !isOver else { return }
        cancel()
        completion(found.sorted { $0.key < $1.key }.map(\.value))
    }
}

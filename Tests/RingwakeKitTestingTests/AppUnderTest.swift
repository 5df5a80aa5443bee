import RingwakeKit
import RingwakeKitTesting
import Synchronization

/// A small app: it reports what comes, does whatever it is asked for, and keeps a list of all that it was told.
final class AppUnderTest: Sendable {
    let client: RingwakeClient
    let registry: PushRegistry
    let provider: CallProvider
    private let heard = Mutex<[String]>([])
    /// Those who wait to hear something.
    private let listeners = Mutex<[AsyncStream<Void>.Continuation]>([])
    private let tasks = Mutex<[Task<Void, Never>]>([])

    /// - Parameters:
    ///   - reports: whether it reports the calls that are pushed to it.
    ///   - fulfills: what it fulfils; it fails all else but what it leaves.
    ///   - leaves: what it neither fulfils nor fails.
    init(
        _ client: RingwakeClient, reports: Bool = true,
        fulfills: @escaping @Sendable (CallAction.Kind) -> Bool = { _ in true },
        leaves: @escaping @Sendable (CallAction.Kind) -> Bool = { _ in false }
    ) {
        self.client = client
        registry = PushRegistry(client: client)
        provider = CallProvider(client: client)
        let (provider, registry) = (provider, registry)
        start { me in
            for await event in registry.events { await me.take(event, reports: reports) }
        }
        start { me in
            for await action in provider.actions {
                let other = action.otherCall.map { " with \($0)" } ?? ""
                me.note("\(action.kind) \(action.digits.isEmpty ? "" : action.digits + " ")\(action.call)\(other)")
                guard !leaves(action.kind) else { continue }
                do {
                    if fulfills(action.kind) { try await action.fulfill() } else { try await action.fail() }
                } catch {
                    me.note("refused \(action.kind) \(action.call)")
                }
            }
        }
        start { me in
            for await event in provider.events {
                switch event {
                case .ended(let call, let reason): me.note("ended \(call.id) \(reason)")
                case .claimed(let call): me.note("claimed \(call.id)")
                case .networkChanged(let call, let path): me.note("network \(call) \(path.interface ?? "none")")
                case .audioActivated(let call, _): me.note("audio on \(call)")
                case .audioDeactivated(let call): me.note("audio off \(call)")
                case .cellular(let isActive): me.note("cellular \(isActive)")
                case .filtered(let call, let filter, _): me.note("filtered \(call) \(filter.rawValue)")
                default: break
                }
            }
        }
    }

    private func start(_ body: @escaping @Sendable (AppUnderTest) async -> Void) {
        let task = Task { [weak self] in
            guard let self else { return }
            await body(self)
        }
        tasks.withLock { $0.append(task) }
    }

    private func take(_ event: PushRegistryEvent, reports: Bool) async {
        switch event {
        case .credentialsUpdated(let credentials): note("credentials \(credentials.count)")
        case .credentialsInvalidated: note("no credentials")
        case .linkReset(let reset):
            note("reset \(reset.code) \(reset.action) \(reset.stage) \(reset.session.gateway ?? "")")
        case .incomingPush(let push):
            note("push \(push.kind.rawValue) \(push.call)")
            guard reports else { return }
            do {
                switch push.kind {
                case .call:
                    let update = CallUpdate(callerName: "Reported", supportsMerging: true)
                    try await provider.reportIncomingCall(with: push.call, update: update)
                case .claim: try await provider.claim(push.call)
                default: break
                }
                note("said \(push.kind.rawValue) \(push.call)")
            } catch {
                note("refused \(push.call): \(error)")
            }
        }
    }

    private func note(_ line: String) {
        heard.withLock { $0.append(line) }
        for listener in listeners.withLock({ $0 }) { listener.yield() }
    }

    /// All that it was told so far.
    var lines: [String] { heard.withLock { $0 } }

    /// Waits until it was told this, `count` times.
    func hears(_ line: String, count: Int = 1) async throws {
        let (news, listener) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        listeners.withLock { $0.append(listener) }
        listener.yield()
        for await _ in news where lines.count(where: { $0 == line }) >= count { return }
        throw CancellationError()
    }

    /// Ends it, and waits until nothing of it runs.
    func close() async {
        client.close()
        for task in tasks.withLock({ $0 }) { await task.value }
    }
}

import RingwakeKit
import Synchronization

/// Does what every call app does: reports each pushed call, does what the user asks for, and reports the end.
///
/// Each call has its own task, which handles one step after the other, so calls never wait for each other.
public final class CallHandler: Sendable {
    private enum Step: Sendable {
        case push(IncomingPush)
        case action(CallAction)
        case remoteAnswer
        case remoteEnd(CallEndReason)
        case network

        /// Whether it is the first of its call: a push, or that the user calls somebody.
        var begins: Bool {
            switch self {
            case .push: true
            case .action(let action): action.kind == .start
            default: false
            }
        }
    }

    private struct NewCall: Sendable {
        let call: Call.ID
        let steps: AsyncStream<Step>
    }

    /// A call of this process.
    private struct OpenCall {
        /// Sends steps to the call's task.
        let steps: AsyncStream<Step>.Continuation
        /// Waits until the line has the call.
        var arrival: Task<CallUpdate?, any Error>?
        var isOver = false
    }

    private struct State {
        var open: [Call.ID: OpenCall] = [:]
        /// Calls whose end arrived before their push: the two come on different streams.
        var overBeforePush: [Call.ID] = []
        /// A call that this process has begun, and not seen yet.
        var begun: Call.ID?
    }

    private let client: RingwakeClient
    private let registry: PushRegistry
    private let provider: CallProvider
    private let line: any Line
    private let stays: Bool
    private let log: @Sendable (String) -> Void
    private let state = Mutex(State())
    private let newCalls = AsyncStream.makeStream(of: NewCall.self)

    /// - Parameters:
    ///   - stays: whether to wait for further calls after the last one.
    ///   - log: called with each event, as a text for a person.
    public init(
        client: RingwakeClient, line: any Line, stays: Bool, log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.client = client
        self.line = line
        self.stays = stays
        self.log = log
        registry = PushRegistry(client: client)
        provider = CallProvider(client: client)
    }

    /// Runs until the last call has ended, or, if it stays, until the client is closed.
    public func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { for await event in self.registry.events { self.take(event) } }
            group.addTask { for await action in self.provider.actions { self.give(action.call, .action(action)) } }
            group.addTask { for await event in self.provider.events { await self.take(event) } }
            group.addTask { for await call in self.line.remoteAnswers { self.give(call, .remoteAnswer) } }
            group.addTask { for await end in self.line.remoteEnds { self.give(end.call, .remoteEnd(end.reason)) } }
            group.addTask {
                for await state in self.client.connectionUpdates { self.log("connection: \(state)") }
                self.newCalls.continuation.finish()
            }
            group.addTask {
                for await state in self.client.protectedDataUpdates { self.log("protected data: \(state)") }
            }
            for await new in newCalls.stream {
                group.addTask { await self.serve(new) }
            }
            group.cancelAll()
        }
    }

    /// Calls somebody; ``run()`` handles the call.
    ///
    /// - Returns: The call's id.
    public func call(_ other: String) async throws(CallError) -> Call.ID {
        let call = try await CallController(client: client).start(to: other)
        state.withLock { $0.begun = call.id }
        return call.id
    }

    // MARK: - Events

    private func take(_ event: PushRegistryEvent) {
        switch event {
        case .credentialsUpdated(let credentials):
            // A real app sends these to its server, or puts them into its Contact: `contactParameters`.
            log("credentials: \(credentials.map(\.environment.description).joined(separator: ", "))")
            for one in credentials {
                guard let host = one.host, let port = one.port else { continue }
                log("push to: \(host) \(port)\(one.certificateAuthorities == nil ? "" : ", with a CA")")
            }
        case .credentialsInvalidated:
            log("credentials: none")
        case .incomingPush(let push):
            log("push: \(push.kind) \(push.call)")
            give(push.call, .push(push))
        case .linkReset(let reset): log("link: reset \(reset.stage.rawValue)")
        @unknown default: break
        }
    }

    private func take(_ event: CallEvent) async {
        switch event {
        case .changed(let call): log("call: \(call.id) \(call.state)")
        case .ended(let call, let reason):
            log("call: \(call.id) ended \(reason)")
            // Immediately, not as a step: the call's task may be waiting for a call that never arrives.
            await forget(call.id)
        case .claimed(let call): log("call: \(call.id) claimed")
        case .networkChanged(let call, _): give(call, .network)
        case .audioActivated(let call, let route):
            log("call: \(call) audio on \(route.outputs.map(\.name).joined(separator: ", "))")
        case .audioDeactivated(let call): log("call: \(call) audio off")
        case .audioFailed(let call, let error): log("call: \(call) no audio: \(error)")
        case .lost, .filtered, .audioRouteChanged, .cellular, .reachability: break
        @unknown default: break
        }
    }

    /// Sends a step to a call's task; the first one creates it.
    private func give(_ call: Call.ID, _ step: Step) {
        let isTaken = state.withLock { state -> Bool in
            if let open = state.open[call] {
                open.steps.yield(step)
            } else if step.begins {
                if state.begun == call { state.begun = nil }
                guard !state.overBeforePush.contains(call) else { return false }
                let (stream, steps) = AsyncStream.makeStream(of: Step.self)
                state.open[call] = OpenCall(steps: steps)
                steps.yield(step)
                newCalls.continuation.yield(NewCall(call: call, steps: stream))
            }
            return true
        }
        if !isTaken { endIfIdle() }
    }

    /// Ends the task of an ended call, without the steps that are left.
    private func forget(_ call: Call.ID) async {
        let known = state.withLock { state -> OpenCall? in
            guard let open = state.open[call] else {
                state.overBeforePush = state.overBeforePush.suffix(63) + [call]
                return nil
            }
            state.open[call]?.isOver = true
            return open
        }
        guard let known else {
            // It never came to this process: another call could not be held for it, for example.
            if state.withLock({ $0.begun == call }) { endIfIdle() }
            return
        }
        known.arrival?.cancel()
        await line.end(call)
        known.steps.finish()
    }

    private func endIfIdle() {
        let isIdle = state.withLock { $0.open.isEmpty }
        if isIdle, !stays { newCalls.continuation.finish() }
    }

    // MARK: - One call

    private func serve(_ new: NewCall) async {
        for await step in new.steps {
            switch step {
            case .push(let push): await take(push)
            case .action(let action): await perform(action)
            case .remoteAnswer:
                await attempt("answer of \(new.call)") {
                    try await provider.reportOutgoingCallConnected(with: new.call)
                }
            case .remoteEnd(let reason):
                await attempt("end of \(new.call)") {
                    try await provider.reportCall(with: new.call, endReason: reason)
                }
            case .network: await line.networkChanged(new.call)
            }
        }
        let isLast = state.withLock { state in
            state.open[new.call] = nil
            return state.open.isEmpty
        }
        guard isLast else { return }
        await line.rest()
        endIfIdle()
    }

    private func take(_ push: IncomingPush) async {
        switch push.kind {
        case .call: await report(push)
        case .claim:
            await attempt("claim of \(push.call)") {
                try await provider.claim(push.call)
                do {
                    try await line.takeOver(push.call)
                } catch {
                    // The media ended with the former process.
                    try await provider.reportCall(with: push.call, endReason: .failed)
                }
            }
        default: break
        }
    }

    private func report(_ push: IncomingPush) async {
        // If the line takes long, report in time without ringing: after that there is the same time again to ring.
        let provisional = Task { [provider] in
            try await Task.sleep(for: push.reportWithin / 2)
            try await provider.reportIncomingCall(with: push.call, ringing: false)
        }
        do {
            let update = try await arrival(push)
            provisional.cancel()
            let isReported = await provisional.result.isSuccess
            guard let update else {
                try await provider.reportCall(with: push.call, endReason: .remoteEnded)
                return
            }
            if isReported {
                try await provider.startRinging(push.call)
            } else {
                try await provider.reportIncomingCall(with: push.call, update: update)
            }
            log("rings: \(push.call)")
        } catch let error as CallError {
            log("not reported: \(push.call): \(error)")
            // The daemon ends a busy call with an action, and sends an event for a blocked or ended call.
            if error.code == .unknownCall { await forget(push.call) }
        } catch {
            provisional.cancel()
            log("cannot be taken: \(push.call): \(error)")
            await attempt("end of \(push.call)") { try await provider.reportCall(with: push.call, endReason: .failed) }
        }
    }

    /// The caller according to the line; nil if the call ends first.
    private func arrival(_ push: IncomingPush) async throws -> CallUpdate? {
        let arrival = Task { [line] in try await line.awaitCall(push) }
        let isOver = state.withLock { state in
            state.open[push.call]?.arrival = arrival
            return state.open[push.call]?.isOver ?? true
        }
        if isOver { arrival.cancel() }
        return try await arrival.value
    }

    private func perform(_ action: CallAction) async {
        // Who is called.
        let other = provider.calls.first { $0.id == action.call }?.caller
        do {
            try await before(action.deadline) { [line] in
                switch action.kind {
                case .start: try await line.dial(action.call, other ?? "")
                case .answer: try await line.answer(action.call)
                case .end: await line.end(action.call)
                case .hold: try await line.setHeld(action.call, true)
                case .unhold: try await line.setHeld(action.call, false)
                case .mute: try await line.setMuted(action.call, true)
                case .unmute: try await line.setMuted(action.call, false)
                case .dtmf: try await line.play(action.digits, in: action.call)
                default: throw UnknownAction()
                }
            }
            await attempt("\(action.kind)") { try await action.fulfill() }
            let words = ["did: \(action.kind)", action.digits, action.call.rawValue]
            log(words.filter { !$0.isEmpty }.joined(separator: " "))
        } catch {
            log("failed: \(action.kind) \(action.call): \(error)")
            await attempt("\(action.kind)") { try await action.fail() }
        }
    }

    /// Logs a refusal. Nothing else is needed: an event has said what happened to the call.
    private func attempt(_ what: String, _ body: () async throws -> Void) async {
        do { try await body() } catch { log("refused: \(what): \(error)") }
    }
}

/// An action that this version does not know.
struct UnknownAction: Error {}

/// The action did not finish before its deadline.
struct TooLate: Error {}

/// Runs `body`, and gives up at `deadline`.
private func before(_ deadline: ContinuousClock.Instant, _ body: @escaping @Sendable () async throws -> Void)
    async throws
{
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(until: deadline, clock: .continuous)
            throw TooLate()
        }
        try await group.next()
        group.cancelAll()
    }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}

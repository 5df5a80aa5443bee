public import CallHandling
import Glibc
public import RingwakeKit

/// SIP calls of baresip. The line starts baresip for the first call, or uses a running one. baresip registers when a push
/// arrives, receives the INVITE that its server has held, and unregisters after the last call.
///
/// A call's id is the Call-ID of its INVITE, which the push contains.
public actor BaresipLine: Line {
    private struct SIPCall {
        /// The caller, known when the INVITE has arrived.
        var caller: CallUpdate?
        /// Nil for a call that was taken over: baresip does not report it.
        var isEstablished: Bool? = false
        var isHeld = false
    }

    private let folder: BaresipFolder
    private let stays: Bool
    private var client: BaresipClient?
    private var starting: Task<Void, any Error>?
    private var reading: Task<Void, Never>?
    /// How often baresip is registered.
    private var accounts = 0
    private var calls: [Call.ID: SIPCall] = [:]
    private var commands = 0
    private var responses: [String: CheckedContinuation<BaresipMessage, any Error>] = [:]
    /// The tasks that wait for an event of a call.
    private var waits: [(call: Call.ID, isIt: @Sendable (BaresipMessage) -> Bool, AsyncStream<Bool>.Continuation)] = []
    /// The last command sequence: a sequence begins when the previous one has ended.
    private var last: Task<Void, Never>?
    private let ends = AsyncStream.makeStream(of: RemoteEnd.self)

    /// How long to wait for an INVITE, and after which time a client that already has calls registers again.
    private static let patience = Duration.seconds(4)
    private static let patienceWithRegistration = Duration.seconds(1)

    public nonisolated var remoteEnds: AsyncStream<RemoteEnd> { ends.stream }

    /// - Parameters:
    ///   - folder: the folder of baresip's configuration.
    ///   - stays: whether baresip keeps running after the last call, unregistered.
    public init(folder: String, stays: Bool) throws {
        self.folder = try BaresipFolder(folder)
        self.stays = stays
    }

    // MARK: - The line

    public func awaitCall(_ push: IncomingPush) async throws -> CallUpdate? {
        let hadCalls = calls.values.contains { $0.caller != nil }
        calls[push.call] = calls[push.call] ?? SIPCall()
        try await run()
        if let caller = calls[push.call]?.caller { return caller }
        let before = accounts
        if before == 0 { try await register() }
        if hadCalls, before > 0 {
            let isThere = await waits(push.call, Self.patienceWithRegistration) { $0.type == "CALL_INCOMING" }
            if isThere == nil { try await register() }
        }
        if calls[push.call] != nil, calls[push.call]?.caller == nil {
            _ = await waits(push.call, Self.patience) { $0.type == "CALL_INCOMING" }
        }
        guard let caller = calls[push.call]?.caller else {
            calls[push.call] = nil
            return nil
        }
        return caller
    }

    public func takeOver(_ call: Call.ID) async throws {
        try await run()
        try await sequence { line in
            guard try await line.choose(call) else { throw BaresipError("baresip has no call '\(call)'") }
        }
        calls[call] = SIPCall(caller: CallUpdate(), isEstablished: nil)
    }

    /// A real app calls here. baresip names a call only when it has sent the INVITE, so it takes more than a command:
    /// ringwake-baresip does it.
    public func dial(_ call: Call.ID, _ other: String) async throws {
        throw BaresipError("this example takes calls only")
    }

    public nonisolated var remoteAnswers: AsyncStream<Call.ID> { AsyncStream { $0.finish() } }

    public func answer(_ call: Call.ID) async throws {
        let others = calls.filter { $0.key != call && $0.value.caller != nil && $0.value.isEstablished == false }.map(
            \.key)
        try await sequence { line in
            // baresip first holds the previous call, and does not answer if that fails, as for a call that still rings.
            // So hold that call beforehand: this fails too, but baresip remembers it; undo it afterwards.
            for other in others where try await line.choose(other) { await line.attempt("hold") }
            guard try await line.choose(call) else { throw BaresipError("the call is gone") }
            try await line.command("accept")
            for other in others where try await line.choose(other) { await line.attempt("resume") }
        }
        guard let isEstablished = calls[call].map(\.isEstablished), isEstablished != true else { return }
        // A call that was taken over may already be answered.
        let limit = isEstablished == nil ? Duration.seconds(2) : .seconds(30)
        let isThere = await waits(call, limit) { $0.type == "CALL_ESTABLISHED" }
        guard isThere ?? (isEstablished == nil) else { throw BaresipError("the caller has gone") }
    }

    public func setHeld(_ call: Call.ID, _ isHeld: Bool) async throws {
        try await sequence { line in
            guard try await line.choose(call) else { throw BaresipError("the call is gone") }
            try await line.command(isHeld ? "hold" : "resume")
            line.calls[call]?.isHeld = isHeld
        }
    }

    public func setMuted(_ call: Call.ID, _ isMuted: Bool) async throws {
        try await sequence { line in
            guard try await line.choose(call) else { throw BaresipError("the call is gone") }
            // The command toggles: send it again if the state was already right.
            let said = try await line.command("mute")
            if said.contains("un-muted") == isMuted { try await line.command("mute") }
        }
    }

    public func play(_ digits: String, in call: Call.ID) async throws {
        for digit in digits {
            if digit == "," {
                try await Task.sleep(for: .seconds(1))
                continue
            }
            try await sequence { line in
                guard try await line.choose(call) else { throw BaresipError("the call is gone") }
                try await line.command("sndcode", "\(digit)")
            }
        }
    }

    public func end(_ call: Call.ID) async {
        guard let known = calls.removeValue(forKey: call) else { return }
        finishWaits(of: call)
        guard known.caller != nil else { return }
        await attemptSequence { line in
            guard try await line.choose(call) else { return }
            try await line.command("hangup")
            try await line.holdAgain()
        }
    }

    /// After the end of a call: baresip then resumes the previous one, which nobody asked for.
    private func holdAgain() async throws {
        for (other, state) in calls where state.isHeld {
            if try await choose(other) { try await command("hold") }
        }
    }

    /// baresip 1.0 has no command for it.
    public func networkChanged(_ call: Call.ID) async {}

    public func rest() async {
        guard calls.isEmpty else { return }
        if stays {
            while accounts > 0 {
                accounts -= 1
                await attempt("uadel", folder.addressOfRecord)
            }
        } else {
            await leave()
        }
    }

    /// Ends baresip, which unregisters; this does not wait for a server that does not answer.
    public func leave() async {
        // A client that has just been started does not listen yet; do not leave it behind.
        _ = await starting?.result
        guard let client, let process = folder.process else { return }
        let reading = reading
        do {
            try client.send(BaresipCommand(command: "quit", params: nil, token: "quit"))
        } catch {
            say("baresip: \(error)")
        }
        let limit = Task {
            try await Task.sleep(for: .seconds(1))
            kill(process, SIGKILL)
        }
        await reading?.value
        limit.cancel()
    }

    // MARK: - baresip

    /// Connects to a running baresip, or starts one.
    private func run() async throws {
        if client != nil { return }
        let task = starting ?? Task { try await start() }
        starting = task
        defer { starting = nil }
        try await task.value
    }

    /// Starts baresip before there is a call, and leaves it unregistered.
    public func prepare() async throws {
        try await run()
        await rest()
    }

    private func start() async throws {
        if let running = try? BaresipClient(folder) {
            // A handler with calls left it behind, registered for those calls.
            accounts = 1
            return attend(running)
        }
        try BaresipClient.start(folder)
        for _ in 0..<400 {
            if let started = try? BaresipClient(folder) { return attend(started) }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw BaresipError("baresip does not listen on \(folder.address):\(folder.port); \(folder.path)/log says why")
    }

    private func attend(_ client: BaresipClient) {
        self.client = client
        reading = Task {
            for await message in client.messages { take(message) }
            gone()
        }
    }

    private func take(_ message: BaresipMessage) {
        guard message.event == true else {
            if let token = message.token { responses.removeValue(forKey: token)?.resume(returning: message) }
            return
        }
        if message.type == "REGISTER_FAIL" {
            say("the server refuses \(folder.addressOfRecord): \(message.param ?? "")")
        }
        guard let call = message.id.map(Call.ID.init(rawValue:)) else { return }
        switch message.type {
        case "CALL_INCOMING":
            calls[call, default: SIPCall()].caller = CallUpdate(
                caller: message.peeruri, callerName: message.peerdisplayname)
        case "CALL_ESTABLISHED":
            calls[call]?.isEstablished = true
        case "CALL_CLOSED":
            if calls.removeValue(forKey: call) != nil {
                Task { await attemptSequence { try await $0.holdAgain() } }
                ends.continuation.yield(RemoteEnd(call, .remoteEnded))
            }
            finishWaits(of: call)
        default: break
        }
        for wait in waits where wait.call == call && wait.isIt(message) { wait.2.yield(true) }
    }

    private func gone() {
        client = nil
        accounts = 0
        for response in responses.values { response.resume(throwing: BaresipError("baresip has gone")) }
        responses = [:]
        for call in calls.keys {
            finishWaits(of: call)
            ends.continuation.yield(RemoteEnd(call, .failed))
        }
        calls = [:]
    }

    private func register() async throws {
        accounts += 1
        try await command("uanew", folder.account)
    }

    // MARK: - Commands and events

    private func attemptSequence(_ body: @escaping @Sendable (isolated BaresipLine) async throws -> Void) async {
        do {
            try await sequence(body)
        } catch {
            say("baresip: \(error)")
        }
    }

    /// A command applies to the last selected call, so commands that belong together run without others in between.
    private func sequence(_ body: @escaping @Sendable (isolated BaresipLine) async throws -> Void) async throws {
        let before = last
        let task = Task {
            await before?.value
            try await body(self)
        }
        last = Task { _ = await task.result }
        try await task.value
    }

    /// Selects a call for the next commands; false if there is no such call.
    private func choose(_ call: Call.ID) async throws -> Bool {
        try await command("callfind", call.rawValue).contains("setting")
    }

    @discardableResult
    private func command(_ name: String, _ parameters: String? = nil) async throws -> String {
        guard let client else { throw BaresipError("baresip does not run") }
        commands += 1
        let command = BaresipCommand(command: name, params: parameters, token: "\(commands)")
        let response = try await withCheckedThrowingContinuation { continuation in
            responses[command.token] = continuation
            do {
                try client.send(command)
            } catch {
                responses.removeValue(forKey: command.token)?.resume(throwing: error)
            }
        }
        guard response.ok == true else { throw BaresipError("\(name): \(response.data ?? "refused")") }
        return response.data ?? ""
    }

    /// Sends a command that may fail.
    private func attempt(_ name: String, _ parameters: String? = nil) async {
        do { try await command(name, parameters) } catch { say("baresip: \(error)") }
    }

    /// Waits for an event of a call: true when it arrived, false when the call has ended, nil after the timeout.
    private func waits(
        _ call: Call.ID, _ limit: Duration, _ isIt: @escaping @Sendable (BaresipMessage) -> Bool
    ) async -> Bool? {
        let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
        waits.append((call, isIt, continuation))
        let timer = Task {
            try await Task.sleep(for: limit)
            continuation.finish()
        }
        defer { timer.cancel() }
        for await isSo in stream { return isSo }
        return nil
    }

    private func finishWaits(of call: Call.ID) {
        for wait in waits where wait.call == call { wait.2.yield(false) }
        waits.removeAll { $0.call == call }
    }
}

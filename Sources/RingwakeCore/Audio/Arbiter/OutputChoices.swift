/// The output that the user chooses. It applies during calls and recordings, until the user chooses another one.
///
///     waiting --the server is connected--> sent --the engine knows it--> made --the plan follows--> answered
///        ^                                  |  \
///        +--- the engine was replaced -----+   +--no output has that name--> answered, as an error
///
/// Without a server, each choice is stored and answered at once. What holds: each choice is answered exactly once,
/// within ``AudioArbiter/choiceTime``; at most ``AudioArbiter/maximumChoices`` wait.
struct OutputChoices: Hashable, Sendable {
    private struct Choice: Hashable, Sendable {
        enum State: Hashable, Sendable { case waiting, sent, made }

        let number: UInt64
        let name: String?
        var state = State.waiting
        /// The latest time for the answer; nil: it was answered, but its result still counts.
        var deadline: BootInstant?
    }

    /// The last choice that the server knows, or that was stored without a server.
    private(set) var chosen: String?
    /// Oldest first.
    private var open: [Choice] = []

    /// Whether a choice is still unanswered.
    var isAwaited: Bool { open.contains { $0.deadline != nil } }
    var nextDeadline: BootInstant? { open.compactMap(\.deadline).min() }

    /// - Returns: whether the choice was accepted; if not, it was answered.
    mutating func choose(_ name: String?, _ number: UInt64, _ turn: inout AudioTurn) -> Bool {
        let limit = AudioSessionConfiguration.maximumNameBytes
        if let name, name.utf8.count > limit {
            refuse(number, .badParam, "the name of an output has at most \(limit) bytes", &turn)
        } else if open.count >= AudioArbiter.maximumChoices {
            refuse(number, .resourceNotAvailable, "as many choices of an output wait as may", &turn)
        } else {
            open.append(
                Choice(number: number, name: name, deadline: turn.now.advanced(by: AudioArbiter.choiceTime)))
            return true
        }
        return false
    }

    /// Sends or answers the choices that can be sent or answered now.
    ///
    /// - Returns: whether a choice replaced an earlier request for the speaker: the later of the two wins.
    mutating func proceed(_ engine: AudioEngineView, _ turn: inout AudioTurn) -> Bool {
        if !engine.isUsed || engine.failure != nil {
            // Without a server, nobody knows which outputs exist.
            let taken = open.filter { $0.state != .made }
            if let last = taken.last { chosen = last.name }
            answer(&turn) { _ in true }
            return !taken.isEmpty
        }
        guard engine.isConnected else { return false }
        for index in open.indices where open[index].state == .waiting {
            open[index].state = .sent
            turn.effects.append(.send(.chooseOutput(open[index].name, number: open[index].number)))
        }
        // The answer waits until the plan without the earlier speaker override is in force too.
        if engine.server.outstanding == nil { answer(&turn) { $0.state == .made } }
        return false
    }

    /// The engine has answered. A choice that was overtaken meanwhile is no longer in the list.
    ///
    /// - Returns: as ``proceed(_:_:)``.
    mutating func answered(_ number: UInt64, isKnown: Bool, _ turn: inout AudioTurn) -> Bool {
        guard let index = open.firstIndex(where: { $0.number == number && $0.state == .sent }) else { return false }
        guard !isKnown else {
            open[index].state = .made
            chosen = open[index].name
            return true
        }
        let choice = open.remove(at: index)
        guard choice.deadline != nil else { return false }
        let kinds = AudioPort.Kind.allCases.filter(\.isOutput).map(\.rawValue).joined(separator: ", ")
        refuse(
            number, .badParam,
            "the audio server has no output '\(choice.name ?? "")'; name one that 'pactl list short sinks' shows, or a kind "
                + "of port: \(kinds)", &turn)
        return false
    }

    /// The speaker was requested after all of these choices, so it overrides them.
    mutating func overtake(isConnected: Bool, _ turn: inout AudioTurn) {
        guard chosen != nil || !open.isEmpty else { return }
        answer(&turn) { _ in true }
        chosen = nil
        if isConnected { turn.effects.append(.send(.chooseOutput(nil))) }
    }

    /// The engine is gone before it answered: sends the choices again.
    mutating func forgetSent() {
        for index in open.indices where open[index].state == .sent { open[index].state = .waiting }
    }

    mutating func passDeadlines(_ turn: inout AudioTurn) {
        for index in open.indices {
            guard let deadline = open[index].deadline, deadline <= turn.now else { continue }
            open[index].deadline = nil
            refuse(
                open[index].number, .mediaServicesFailed,
                "the audio server has not answered within \(AudioArbiter.choiceTime.milliseconds) ms; what was chosen is so "
                    + "once it does", &turn)
        }
    }

    private mutating func answer(_ turn: inout AudioTurn, where isDone: (Choice) -> Bool) {
        for choice in open where isDone(choice) && choice.deadline != nil {
            turn.effects.append(.answerChoice(choice.number, nil))
        }
        open.removeAll(where: isDone)
    }

    private func refuse(
        _ number: UInt64, _ code: AudioSessionError.Code, _ message: String, _ turn: inout AudioTurn
    ) {
        turn.effects.append(.answerChoice(number, AudioSessionError(code, message)))
    }
}

/// The output that the user chooses: in force while a call or a recording is, until another one is chosen.
///
///     waiting --the server is connected--> sent --the engine knows it--> made --the plan follows--> answered
///        ^                                  |  \
///        +---- the engine is another one ---+   +--no output has that name--> answered, as an error
///
/// Where there is no server each is remembered, and answered, at once. What holds: each choice is answered exactly once,
/// within ``AudioArbiter/choiceTime``; at most ``AudioArbiter/maximumChoices`` wait.
struct OutputChoices: Hashable, Sendable {
    private struct Choice: Hashable, Sendable {
        enum State: Hashable, Sendable { case waiting, sent, made }

        let number: UInt64
        let name: String?
        var state = State.waiting
        /// When it is answered at the latest; nil: it was, and what comes of it is taken in all the same.
        var deadline: BootInstant?
    }

    /// What was chosen last and is known to the server, or could not be asked of it.
    private(set) var chosen: String?
    /// The oldest first.
    private var open: [Choice] = []

    /// Whether somebody waits for an answer.
    var isAwaited: Bool { open.contains { $0.deadline != nil } }
    var nextDeadline: BootInstant? { open.compactMap(\.deadline).min() }

    /// - Returns: whether it was taken; else it was answered.
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

    /// Goes on with what was chosen, as far as it can be gone on.
    ///
    /// - Returns: whether a choice took the place of a speaker that was asked for before: the last one counts.
    mutating func proceed(_ engine: AudioEngineView, _ turn: inout AudioTurn) -> Bool {
        if !engine.isUsed || engine.failure != nil {
            // Nobody can say what there is.
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
        // The plan without the speaker that somebody had asked for before is to be in force too.
        if engine.server.outstanding == nil { answer(&turn) { $0.state == .made } }
        return false
    }

    /// The engine has answered; one that was overtaken meanwhile is none any more.
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

    /// The speaker was asked for after all of these.
    mutating func overtake(isConnected: Bool, _ turn: inout AudioTurn) {
        guard chosen != nil || !open.isEmpty else { return }
        answer(&turn) { _ in true }
        chosen = nil
        if isConnected { turn.effects.append(.send(.chooseOutput(nil))) }
    }

    /// The engine that has them, and has not answered, is gone.
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

// The output that the user chooses: in force while a call or a recording is, until another one is chosen.
extension AudioArbiter {
    /// What the user chose last, until the server is known to be so.
    struct Choice: Hashable, Sendable {
        ///     waiting --the server is connected--> sent --the engine knows it--> made --the plan follows--> answered
        ///        ^                                  |  \
        ///        +---- the engine is another one ---+   +--no output has that name--> answered, as an error
        ///
        /// Where there is no server each is remembered, and answered, at once.
        enum State: Hashable, Sendable { case waiting, sent, made }

        let number: UInt64
        let name: String?
        var state = State.waiting
        /// When it is answered at the latest; nil: it was, and what comes of it is taken in all the same.
        var deadline: BootInstant?
    }

    mutating func chooseOutput(_ name: String?, _ number: UInt64, _ turn: inout Turn) {
        let limit = AudioSessionConfiguration.maximumNameBytes
        if let name, name.utf8.count > limit {
            return refuse(number, .badParam, "the name of an output has at most \(limit) bytes", &turn)
        }
        guard choices.count < AudioArbiter.maximumChoices else {
            return refuse(number, .resourceNotAvailable, "as many choices of an output wait as may", &turn)
        }
        reviveEngine(&turn)
        choices.append(
            Choice(number: number, name: name, deadline: turn.now.advanced(by: AudioArbiter.choiceTime)))
    }

    /// Goes on with what was chosen, as far as it can be gone on.
    mutating func tendChoices(_ turn: inout Turn) {
        guard !choices.isEmpty else { return }
        if !settings.hasEngine || engine.failure != nil {
            // Nobody can say what there is.
            for choice in choices where choice.state != .made { take(choice.name) }
            return answerChoices(&turn) { _ in true }
        }
        guard engine.isConnected else { return }
        for index in choices.indices where choices[index].state == .waiting {
            choices[index].state = .sent
            let choice = choices[index]
            turn.effects.append(.send(.chooseOutput(choice.name, number: choice.number)))
        }
        // The plan without the speaker that somebody had asked for before is to be in force too.
        if progress.outstanding == nil { answerChoices(&turn) { $0.state == .made } }
    }

    /// The choice takes the place of a speaker that was asked for: the last one counts.
    private mutating func take(_ name: String?) {
        dropOverrides()
        chosenOutput = name
    }

    private mutating func answerChoices(_ turn: inout Turn, where isDone: (Choice) -> Bool) {
        for choice in choices where isDone(choice) && choice.deadline != nil {
            turn.effects.append(.answerChoice(choice.number, nil))
        }
        choices.removeAll(where: isDone)
    }

    private func refuse(
        _ number: UInt64, _ code: AudioSessionError.Code, _ message: String, _ turn: inout Turn
    ) {
        turn.effects.append(.answerChoice(number, AudioSessionError(code, message)))
    }

    /// One that was overtaken meanwhile is none any more.
    mutating func choiceAnswered(_ number: UInt64, isKnown: Bool, _ turn: inout Turn) {
        guard let index = choices.firstIndex(where: { $0.number == number && $0.state == .sent }) else { return }
        guard !isKnown else {
            choices[index].state = .made
            return take(choices[index].name)
        }
        let choice = choices.remove(at: index)
        guard choice.deadline != nil else { return }
        let kinds = AudioPort.Kind.allCases.filter(\.isOutput).map(\.rawValue).joined(separator: ", ")
        refuse(
            number, .badParam,
            "the audio server has no output '\(choice.name ?? "")'; name one that 'pactl list short sinks' shows, or a kind "
                + "of port: \(kinds)", &turn)
    }

    /// The speaker was asked for after all of these.
    mutating func overtakeChoices(_ turn: inout Turn) {
        guard chosenOutput != nil || !choices.isEmpty else { return }
        answerChoices(&turn) { _ in true }
        chosenOutput = nil
        if engine.isConnected { turn.effects.append(.send(.chooseOutput(nil))) }
    }

    /// Whoever was told of them is gone.
    mutating func forgetChoicesSent() {
        for index in choices.indices where choices[index].state == .sent { choices[index].state = .waiting }
    }

    mutating func passDeadlinesOfChoices(_ turn: inout Turn) {
        for index in choices.indices {
            guard let deadline = choices[index].deadline, deadline <= turn.now else { continue }
            choices[index].deadline = nil
            refuse(
                choices[index].number, .mediaServicesFailed,
                "the audio server has not answered within \(AudioArbiter.choiceTime.milliseconds) ms; what was chosen is so "
                    + "once it does", &turn)
        }
    }
}

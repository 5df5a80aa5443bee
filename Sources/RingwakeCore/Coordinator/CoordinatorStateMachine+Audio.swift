// What calls need of audio, and what becomes of it. The coordinator does not decide when audio is active: it says what is
// so of the calls, and the arbiter follows.
extension CoordinatorStateMachine {
    mutating func applyToAudio(_ event: Event, at now: BootInstant) -> [Effect] {
        switch event {
        case .audioConfigured(let key, let configuration, let wake):
            guard let call = call(key) else { return [.refused(.unknownCall(key))] }
            guard wake == nil || call.handler == wake else { return [.refused(.notOwned(key))] }
            guard !call.machine.hasEnded else { return [.refused(.wrongState(key, call.machine.state))] }
            guard call.audioConfiguration != configuration else { return [] }
            active[key]?.audioConfiguration = configuration
            return active[key].map { [.callNoted($0)] } ?? []
        case .audioChanged(let key, let change):
            return audioChanged(key, change, at: now)
        default:
            return []
        }
    }

    private mutating func audioChanged(_ key: CallKey, _ change: CallAudioChange, at now: BootInstant) -> [Effect] {
        guard var call = call(key) else { return [] }
        var audio = call.audio ?? CallAudioState()
        guard audio.apply(change) else { return [] }
        call.audio = audio
        if case .activated = change { call.note(.audioActive, at: now) }
        file(call)
        return [.callNoted(call), .tellAudio(call, change)]
    }

    /// What the calls need of audio now.
    ///
    /// - Parameters:
    ///   - former: what they needed when this was asked last: the call in focus stays it until it leaves, also while its
    ///     handler is ending it, for that is to stop its streams first.
    ///   - processes: of a call's handler, as far as they are known.
    package func audioNeeds(
        after former: CallAudioNeeds, processes: (Call) -> Set<Int32>
    ) -> CallAudioNeeds {
        // This is asked after each event: calls that wait for their handlers cost no more than a look.
        let calls = active.values.filter(\.machine.mayNeedAudio).sorted { $0.number < $1.number }
        let focus = calls.last { $0.key == former.focus?.call && $0.keepsFocus } ?? calls.last { $0.takesFocus }
        var needs = CallAudioNeeds()
        needs.focus = focus.map { call in
            CallAudioNeeds.Focus(
                call: call.key, client: AudioClient(processes: processes(call), name: call.key.app.rawValue),
                configuration: call.sessionConfiguration, isMuted: call.machine.isMuted)
        }
        needs.isFocusComing = waiter != nil || calls.contains { $0.machine.isComingIntoFocus }
        needs.isRinging = !ringingCalls.isEmpty
        needs.isAnyCall = !calls.isEmpty
        needs.exempt = Set(calls.filter { $0.key != focus?.key }.flatMap { processes($0) })
        return needs
    }

    // MARK: - Going on with the call that is held

    /// The user hangs up: whether the call is the one that he talks in.
    mutating func noteEndInFocus(of key: CallKey) {
        guard case .connected = active[key]?.machine.state else { return }
        active[key]?.wasEndedInFocus = true
    }

    /// The user has hung up, and one other call is held, which he goes on with. Not where the other side hung up: he might
    /// be overheard; nor where several are held, for he may mean either.
    mutating func resumeHeld(at now: BootInstant) -> [Effect] {
        guard waiter == nil, !isCellularActive, !active.values.contains(where: { $0.machine.isOnTheLine }) else {
            return []
        }
        let held = active.values.filter { $0.machine.state.name == .held }
        guard held.count == 1, let call = held.first, call.machine.lease == .taken else { return [] }
        return settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in try machine.unhold(at: now) }
    }
}

extension Call {
    /// Whether it comes into focus if no other call has it.
    fileprivate var takesFocus: Bool {
        // Nobody is there to play or record while it has no handler.
        if case .connected = machine.state { machine.lease == .taken } else { false }
    }

    /// Whether it stays in focus.
    fileprivate var keepsFocus: Bool {
        if case .ending = machine.state { true } else { takesFocus }
    }
}

extension CallStateMachine {
    /// Whether the user has answered it or gone on with it, and its handler is being asked; or it has lost its handler,
    /// and another start of that may claim it within some seconds.
    fileprivate var isComingIntoFocus: Bool {
        switch state {
        case .answering: true
        case .connected: claimBy != nil
        case .held: isAsked(.unhold)
        default: false
        }
    }

    /// Whether it is known to be a call that somebody may talk in.
    fileprivate var mayNeedAudio: Bool {
        switch state {
        case .reported, .confirmed, .ringing, .answering, .connected, .held, .ending: true
        case .queued, .woken, .ended: false
        }
    }
}

/// The audio session of one call.
package struct CallAudioState: Hashable, Sendable {
    /// Rises with each activation of this call, also over restarts.
    package private(set) var activation = 0
    package private(set) var phase = Phase.inactive

    package enum Phase: Hashable, Sendable {
        case inactive
        /// The handler may play and record.
        case active(AudioRoute)
        /// It could not be activated, or was lost. The call continues.
        case failed(AudioSessionError)
    }

    init(activation: Int = 0) {
        self.activation = activation
    }

    /// The state after a restart: to the audio server, the session was never active. An activation may have been
    /// reported but not stored, so its number must not be used again.
    var afterRestart: CallAudioState { CallAudioState(activation: activation &+ 1) }

    /// Applies `change`. Returns whether anything changed.
    mutating func apply(_ change: CallAudioChange) -> Bool {
        let before = self
        switch (change, phase) {
        case (.activated, .active): return false
        case (.activated(let route), _):
            activation &+= 1
            phase = .active(route)
        case (.deactivated, .active), (.deactivated, .failed): phase = .inactive
        case (.failed(let error), _): phase = .failed(error)
        case (.routeChanged(_, _, let current), .active): phase = .active(current)
        case (.deactivated, .inactive), (.routeChanged, _): return false
        }
        return self != before
    }

    /// Whether its handler may play and record.
    package var isActive: Bool {
        if case .active = phase { true } else { false }
    }
}

/// A change of the audio session of a call.
package enum CallAudioChange: Hashable, Sendable {
    case activated(AudioRoute)
    case deactivated
    case failed(AudioSessionError)
    case routeChanged(AudioRouteChangeReason, previous: AudioRoute, current: AudioRoute)
}

extension Call {
    /// The configuration of its audio session.
    package var sessionConfiguration: AudioSessionConfiguration {
        if let audioConfiguration { return audioConfiguration }
        return update.hasVideo == true ? .videoCall : .voiceCall
    }
}

// MARK: - What all calls need

extension CallAudioNeeds {
    /// What these calls need of audio now.
    ///
    /// - Parameters:
    ///   - calls: the calls in progress, the oldest first.
    ///   - former: the previous needs. The call in focus keeps the focus until it leaves, also while its handler ends
    ///     it: the handler has to stop its streams first.
    ///   - processes: the processes of a call's handler, as far as they are known.
    init(of calls: [Call], isFocusComing: Bool, after former: CallAudioNeeds, processes: (Call) -> Set<Int32>) {
        let current = calls.last { $0.key == former.focus?.call && $0.keepsFocus } ?? calls.last { $0.takesFocus }
        focus = current.map { call in
            let others = calls.filter { $0.key != call.key && $0.isInConference(with: call) && $0.takesFocus }
            var focus = Focus(
                call: call.key, client: AudioClient(processes: processes(call), name: call.key.app.rawValue),
                configuration: call.sessionConfiguration,
                isMuted: ([call] + others).allSatisfy { $0.machine.isMuted })
            focus.others = others.map(\.key)
            return focus
        }
        self.isFocusComing = isFocusComing || calls.contains { $0.machine.isComingIntoFocus }
        isAnyCall = !calls.isEmpty
        exempt = Set(calls.filter { $0.key != current?.key }.flatMap { processes($0) })
    }
}

extension Call {
    /// Whether it comes into focus if no other call has it.
    fileprivate var takesFocus: Bool {
        // Without a handler, nothing plays or records. While it connects, the app plays ringback or early media.
        switch machine.state {
        case .connected, .connecting: machine.lease == .taken
        default: false
        }
    }

    /// Whether it stays in focus.
    fileprivate var keepsFocus: Bool {
        if case .ending = machine.state { true } else { takesFocus }
    }
}

extension CallStateMachine {
    /// Whether the user has answered or resumed the call and its handler has not confirmed yet, or whether the call has
    /// lost its handler and another one may claim it within some seconds.
    fileprivate var isComingIntoFocus: Bool {
        switch state {
        case .answering, .dialling: true
        case .connected, .connecting: claimBy != nil
        case .held: isAsked(.unhold)
        default: false
        }
    }

    /// Whether the call may come to need audio.
    var mayNeedAudio: Bool { state.name != .queued && state.name != .woken && !hasEnded }
}

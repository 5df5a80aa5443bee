public import RingwakeCore

/// What the audio server of a simulated daemon does.
public enum SimulatedAudioServer: Hashable, Sendable {
    /// It activates the audio of each call.
    case available
    /// It refuses to activate the audio of calls, with this error. A call whose audio is active keeps it.
    case refusing(AudioSessionError)
    /// It doesn't run.
    case gone
}

extension SimulatedDaemon {
    /// The route at first: a speaker and a microphone.
    static let initialAudioRoute = AudioRoute(
        inputs: [AudioPort(kind: .builtInMicrophone, device: "simulated.microphone", name: "Microphone")],
        outputs: [AudioPort(kind: .builtInSpeaker, device: "simulated.speaker", name: "Speaker")])

    /// Changes where the sound of calls goes and comes from, as somebody does who plugs something in or pulls it out.
    ///
    /// The app gets `CallEvent.audioRouteChanged` of the call whose audio is active; a call whose audio could not be
    /// activated is tried again. The next activations have the new route. At first there is a built-in speaker with a
    /// built-in microphone. The route outlives ``restart()``.
    ///
    /// - Parameters:
    ///   - route: the whole route. A machine without a microphone has no inputs, and `isInputAvailable` is false.
    ///   - reason: why it changes, as the app is told.
    public func setAudioRoute(_ route: AudioRoute, reason: AudioRouteChangeReason) {
        with { $0.changeAudio { $0.move(to: route, reason, at: $1) } }
    }

    /// Changes what the audio server does. The app gets `CallEvent.audioFailed` of a call that is answered or resumed
    /// while it refuses or is gone, and of one whose audio is active when it goes. When it is back, the call gets its
    /// audio. What the server does outlives ``restart()``.
    ///
    /// A call that was refused is tried again when the route or the call's audio configuration changes, not when the
    /// server stops refusing: no server says that it does.
    ///
    /// - Parameter server: what it does from now on. At first it is `available`.
    public func setAudioServer(_ server: SimulatedAudioServer) {
        with { $0.changeAudio { $0.change(to: server, at: $1) } }
    }
}

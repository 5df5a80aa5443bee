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

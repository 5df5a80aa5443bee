/// The state of a modem's call: MMCallState of ModemManager ("Flags and Enumerations").
nonisolated enum CellularCallState: Int32 {
    case unknown = 0
    case dialing = 1
    case ringingOut = 2
    case ringingIn = 3
    case active = 4
    case held = 5
    case waiting = 6
    case terminated = 7

    /// Whether the user is in this call: it has the microphone, or is about to have it.
    ///
    /// A call that only rings (`ringing-in`, `waiting`) takes nothing from another call until it is answered. A held
    /// call has left the line to another one: holding ours for it too would leave the user without a call.
    var isInProgress: Bool {
        switch self {
        case .dialing, .ringingOut, .active: true
        case .unknown, .ringingIn, .held, .waiting, .terminated: false
        }
    }
}

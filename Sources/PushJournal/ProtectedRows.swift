package import RingwakeCore

/// What can be read of the protected rows with the present keys.
package nonisolated struct ProtectedRows: Sendable {
    /// The state of apps.
    package var states: [StateRow] = []
    /// The paths of state that can't be read now, with the class that keeps from it.
    package var lockedStates: [String: ProtectionClass] = [:]
    /// The paths of state that can't be used, with the reason: its key was deleted, or it is damaged.
    package var unfitStates: [String: String] = [:]
    /// Who called, by the numbers of the calls that have not ended, or that were asked for.
    package var callers: [Int64: CallUpdate] = [:]
}

/// The life of one audio session.
///
///     inactive --activate--> activating --activated--> active --deactivate--> deactivating --deactivated--> inactive
///        ^                    |      ^                   |  ^                      |
///        +--activationFailed--+      |           interrupt  +--deactivationFailed--+
///        |                    |      |                   v
///        |                    |      +----activate--- interrupted --endInterruption--> interrupted, by none
///        |                    +--activationFailed-------^  |
///        +------------------- deactivate ------------------+
///
///     any --lose--> lost --reset--> inactive
///
/// | transition | function |
/// |---|---|
/// | inactive, interrupted -> activating | ``activate(order:)`` |
/// | activating -> active | ``activated()`` |
/// | activating -> inactive, interrupted: what it was | ``activationFailed()`` |
/// | active -> deactivating; interrupted -> inactive | ``deactivate(isPlaying:)`` |
/// | deactivating -> inactive | ``deactivated(isBusy:)`` |
/// | deactivating -> active | ``deactivationFailed()`` |
/// | active -> interrupted | ``interrupt(by:)`` |
/// | interrupted -> interrupted, by another or by none | ``inherit(from:to:)``, ``endInterruption(by:)`` |
/// | any but lost -> lost | ``lose()`` |
/// | lost -> inactive | ``reset()`` |
///
/// What holds in each state:
/// - *inactive*: the server does nothing for it; its streams are silent if they ran when it became inactive.
/// - *activating*: the server is changing as it asks; its client waits for the answer.
/// - *active*: the server has acknowledged all that it asks for.
/// - *interrupted*: its client was notified once that an interruption began; its streams are silent. Only a request of
///   its client makes it active again.
/// - *deactivating*: its effects on others are being undone; its client waits for the answer.
/// - *lost*: its client was notified that the server is gone. After a reset, only a request of its client makes it
///   active again.
///
/// A function that does not fit the state returns false or throws, and changes nothing.
package struct AudioSessionStateMachine: Hashable, Sendable {
    package indirect enum State: Hashable, Sendable {
        /// `isSilenced`: its streams still ran when it became inactive.
        case inactive(isSilenced: Bool)
        /// `from`: the state before, *inactive* or *interrupted*.
        case activating(order: UInt64, from: State)
        /// `order` tells which of two sessions became active later.
        case active(order: UInt64)
        /// `by`: the interrupter; nil once it is gone, or if there never was one.
        case interrupted(by: AudioInterrupter?)
        case deactivating(order: UInt64)
        case lost
    }

    package private(set) var state = State.inactive(isSilenced: false)

    static let serverGone = AudioSessionError(
        .mediaServicesFailed, "the audio server is gone; activate again once it is back")
    private static let isChanging = AudioSessionError(
        .unspecified, "the session is changing already; wait for the answer")

    package init() {}

    // MARK: - What the client asks for

    /// - Returns: whether the server must change for it; false if the session is active already.
    /// - Throws: `mediaServicesFailed` while it is lost, `unspecified` while it is changing already.
    package mutating func activate(order: UInt64) throws(AudioSessionError) -> Bool {
        switch state {
        case .inactive, .interrupted: state = .activating(order: order, from: state)
        case .active: return false
        case .activating, .deactivating: throw AudioSessionStateMachine.isChanging
        case .lost: throw AudioSessionStateMachine.serverGone
        }
        return true
    }

    /// - Parameter isPlaying: whether its streams run; those of an interrupted session then stay silent.
    /// - Returns: whether the server must change for it: only if the session was active.
    /// - Throws: `unspecified` while it is changing already.
    package mutating func deactivate(isPlaying: Bool) throws(AudioSessionError) -> Bool {
        switch state {
        case .active(let order):
            state = .deactivating(order: order)
            return true
        case .interrupted: state = .inactive(isSilenced: isPlaying)
        case .inactive, .lost: break
        case .activating, .deactivating: throw AudioSessionStateMachine.isChanging
        }
        return false
    }

    // MARK: - Results

    @discardableResult
    package mutating func activated() -> Bool {
        guard case .activating(let order, _) = state else { return false }
        state = .active(order: order)
        return true
    }

    @discardableResult
    package mutating func activationFailed() -> Bool {
        guard case .activating(_, let origin) = state else { return false }
        state = origin
        return true
    }

    @discardableResult
    package mutating func deactivated(isBusy: Bool) -> Bool {
        guard case .deactivating = state else { return false }
        state = .inactive(isSilenced: isBusy)
        return true
    }

    @discardableResult
    package mutating func deactivationFailed() -> Bool {
        guard case .deactivating(let order) = state else { return false }
        state = .active(order: order)
        return true
    }

    // MARK: - Effects of others

    /// - Parameter by: the interrupter, whose end ends the interruption; nil if nothing ends it.
    /// - Returns: whether it was active; if so, its client must be notified.
    package mutating func interrupt(by: AudioInterrupter?) -> Bool {
        guard case .active = state else { return false }
        state = .interrupted(by: by)
        return true
    }

    /// - Returns: whether `by` had interrupted it; if so, its client must be notified. The session stays interrupted.
    package mutating func endInterruption(by: AudioInterrupter) -> Bool {
        guard case .interrupted(by: by) = state else { return false }
        state = .interrupted(by: nil)
        return true
    }

    /// Another interrupter takes the place of one that goes or has gone. The client is not notified.
    package mutating func inherit(from former: AudioInterrupter?, to by: AudioInterrupter) -> Bool {
        guard case .interrupted(by: former) = state else { return false }
        state = .interrupted(by: by)
        return true
    }

    /// - Returns: whether its client must be notified.
    package mutating func lose() -> Bool {
        guard state != .lost else { return false }
        state = .lost
        return true
    }

    /// - Returns: whether its client must be notified.
    package mutating func reset() -> Bool {
        guard state == .lost else { return false }
        state = .inactive(isSilenced: false)
        return true
    }
}

/// Something that interrupts a session until it ends.
package enum AudioInterrupter: Hashable, Sendable {
    /// Another session; it may be the session of the calls or of ringing.
    case session(AudioSessionID)
    /// The built-in microphone, muted in hardware.
    case microphone
}

/// The state of a session, by name.
public enum AudioSessionState: String, Sendable, Codable, CaseIterable {
    case inactive, activating, active, interrupted, deactivating
    /// The audio server is gone.
    case lost
}

extension AudioSessionStateMachine.State {
    package var name: AudioSessionState {
        switch self {
        case .inactive: .inactive
        case .activating: .activating
        case .active: .active
        case .interrupted: .interrupted
        case .deactivating: .deactivating
        case .lost: .lost
        }
    }

    /// The order number of an active or activating session: it tells which of two became active later.
    package var order: UInt64? {
        switch self {
        case .active(let order), .activating(let order, _): order
        case .inactive, .interrupted, .deactivating, .lost: nil
        }
    }

    /// The interrupter of an interrupted session.
    package var interrupter: AudioInterrupter? {
        if case .interrupted(let by) = self { by } else { nil }
    }
}

/// The life of one audio session.
///
///     inactive --activate--> activating --activated--> active --deactivate--> deactivating --deactivated--> inactive
///        ^                    |      ^                   |  ^                      |
///        +--activationFailed--+      |           interrupt  +--deactivationFailed--+
///        |                    |      |                   v
///        |                    |      +----activate--- interrupted --endInterruption--> interrupted, by nobody any more
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
/// | interrupted -> interrupted, by another or by nobody | ``inherit(from:to:)``, ``endInterruption(by:)`` |
/// | any but lost -> lost | ``lose()`` |
/// | lost -> inactive | ``reset()`` |
///
/// What holds in each state:
/// - *inactive*: nothing is in force for it; its streams are silent if they ran when it became so.
/// - *activating*: the server is being made as it asks; its client waits for the answer.
/// - *active*: the server has acknowledged all that it asks for.
/// - *interrupted*: its client was told that an interruption began, once; its streams are silent. It becomes active by its
///   client's asking and in no other way.
/// - *deactivating*: what it did to others is being undone; its client waits for the answer.
/// - *lost*: its client was told that the server is gone. It is active again by its client's asking after a reset.
///
/// A function that does not fit the state says so and changes nothing.
package struct AudioSessionStateMachine: Hashable, Sendable {
    package indirect enum State: Hashable, Sendable {
        /// `isSilenced`: its streams still ran when it became inactive.
        case inactive(isSilenced: Bool)
        /// `from`: *inactive* or *interrupted*, as it was.
        case activating(order: UInt64, from: State)
        /// `order` tells which of two sessions became active later.
        case active(order: UInt64)
        /// By whom; nil once that is over.
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

    /// - Returns: whether the server is to be changed for it; it need not be for one that is active.
    /// - Throws: `mediaServicesFailed` while it is lost, `unspecified` while it is on the way already.
    package mutating func activate(order: UInt64) throws(AudioSessionError) -> Bool {
        switch state {
        case .inactive, .interrupted: state = .activating(order: order, from: state)
        case .active: return false
        case .activating, .deactivating: throw AudioSessionStateMachine.isChanging
        case .lost: throw AudioSessionStateMachine.serverGone
        }
        return true
    }

    /// - Parameter isPlaying: its streams run; those of an interrupted session stay silent then.
    /// - Returns: whether the server is to be changed for it: only for one that was active.
    /// - Throws: `unspecified` while it is on the way already.
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

    // MARK: - What comes of it

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

    // MARK: - What others bring about

    /// - Parameter by: whose end ends it; nil where nothing does.
    /// - Returns: whether it was active, and its client is to be told.
    package mutating func interrupt(by: AudioInterrupter?) -> Bool {
        guard case .active = state else { return false }
        state = .interrupted(by: by)
        return true
    }

    /// - Returns: whether `by` had interrupted it, and its client is to be told. It stays interrupted.
    package mutating func endInterruption(by: AudioInterrupter) -> Bool {
        guard case .interrupted(by: by) = state else { return false }
        state = .interrupted(by: nil)
        return true
    }

    /// The interrupter goes, or has gone, and another holds the session back from now on: its client is not told.
    package mutating func inherit(from former: AudioInterrupter?, to by: AudioInterrupter) -> Bool {
        guard case .interrupted(by: former) = state else { return false }
        state = .interrupted(by: by)
        return true
    }

    /// - Returns: whether its client is to be told.
    package mutating func lose() -> Bool {
        guard state != .lost else { return false }
        state = .lost
        return true
    }

    /// - Returns: whether its client is to be told.
    package mutating func reset() -> Bool {
        guard state == .lost else { return false }
        state = .inactive(isSilenced: false)
        return true
    }
}

/// Whose end ends an interruption.
package enum AudioInterrupter: Hashable, Sendable {
    /// Another session, that of the calls and of ringing among them.
    case session(AudioSessionID)
    /// The built-in microphone, muted in hardware.
    case microphone
}

/// Where a session stands, by name.
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

    /// Of a session that is in force or about to be: which of two is the later one.
    package var order: UInt64? {
        switch self {
        case .active(let order), .activating(let order, _): order
        case .inactive, .interrupted, .deactivating, .lost: nil
        }
    }

    /// Who holds it back, of one that is interrupted.
    package var interrupter: AudioInterrupter? {
        if case .interrupted(let by) = self { by } else { nil }
    }
}

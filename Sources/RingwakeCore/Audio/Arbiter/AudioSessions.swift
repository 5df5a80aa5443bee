/// The sessions of clients, and their interruptions.
///
///     open --> Session { client, lease, configuration, AudioSessionStateMachine } --close--> gone
///
///     owner --interrupt--> session: began          owner leaves --> released --> session: ended
///                                                   |                  ^ when the owner has left the server
///                                                   +--interrupted itself: its interrupter takes over
///
/// What holds:
/// - numbers of sessions rise, and no number is used twice; at most ``AudioArbiter/maximumSessions`` are open;
/// - a session has at most one interrupter, and interrupters form no circle;
/// - a client is notified of the end of an interruption only after its begin, and once.
package struct AudioSessions: Hashable, Sendable {
    /// One session of a client.
    package struct Session: Hashable, Sendable {
        package let client: AudioClient
        package let openedAt: BootInstant
        package internal(set) var hasLease: Bool
        package internal(set) var configuration = AudioSessionConfiguration.standard
        package internal(set) var machine = AudioSessionStateMachine() {
            didSet { if machine.state.name != .active { isSpeakerForced = false } }
        }
        package internal(set) var isSpeakerForced = false
        /// Whether there is an input for it, as its client was last told; true while that is not known.
        package fileprivate(set) var isInputAvailable = true
        /// The last hint to its client: whether another session that is not mixable plays.
        fileprivate var hint = false
        /// Whether the last interruption notice to its client was an end.
        fileprivate var hasHeardOfEnd = false
    }

    /// An interrupter that has left. The sessions that it interrupted are notified once it has left the server.
    private struct Release: Hashable, Sendable {
        let owner: AudioInterrupter
        let shouldResume: Bool
    }

    private(set) var all: [AudioSessionID: Session] = [:]
    /// Whether players that were paused for the sessions that leave with the next plan play again.
    var resumesPlayers = true
    private var releases: [Release] = []
    private var lastNumber = AudioSessionID.firstClient.number - 1
    private var lastOrder: UInt64 = 0

    /// Changes an open session. It adds and removes none.
    subscript(id: AudioSessionID) -> Session? {
        get { all[id] }
        set { if all[id] != nil, let newValue { all[id] = newValue } }
    }

    var ids: [AudioSessionID] { all.keys.sorted() }
    var nextID: AudioSessionID { AudioSessionID(number: lastNumber &+ 1) }
    var hasRoom: Bool { all.count < AudioArbiter.maximumSessions }

    mutating func nextOrder() -> UInt64 {
        lastOrder &+= 1
        return lastOrder
    }

    /// Whether the session is open; refuses the request if not.
    func isOpen(_ id: AudioSessionID, _ turn: inout AudioTurn) -> Bool {
        if all[id] == nil { turn.refuse(id, .expiredSession, "no such session is open") }
        return all[id] != nil
    }

    // MARK: - Open and close

    /// - Parameter route: the current route. A client reads from it whether there is an input, and is notified of later
    ///   changes only.
    /// - Returns: why the session was not opened; nil if it was.
    mutating func open(
        _ id: AudioSessionID, _ client: AudioClient, hasLease: Bool, route: AudioRoute, at now: BootInstant
    ) -> AudioSessionError? {
        guard id.number > lastNumber, id.number < .max else {
            return AudioSessionError(.badParam, "a session with this number was opened before")
        }
        guard hasRoom else {
            return AudioSessionError(
                .resourceNotAvailable, "as many audio sessions are open as may be; close one")
        }
        lastNumber = id.number
        all[id] = Session(client: client, openedAt: now, hasLease: hasLease)
        all[id]?.isInputAvailable = route.isInputAvailable
        return nil
    }

    /// The client closed the session or died. The interrupted sessions may resume, as after a deactivation that
    /// notifies others.
    mutating func close(_ id: AudioSessionID) {
        guard let session = all.removeValue(forKey: id) else { return }
        leave(id, from: session.machine.state, shouldResume: true)
    }

    /// Ends the speaker override of every session.
    mutating func dropSpeaker() {
        for id in all.keys { all[id]?.isSpeakerForced = false }
    }

    /// The connection to the server broke.
    ///
    /// - Parameter wasThere: whether there was a server. If there wasn't, only sessions that are not inactive are lost.
    mutating func lose(wasThere: Bool, _ turn: inout AudioTurn) {
        for id in ids where wasThere || all[id]?.machine.state.name != .inactive {
            if all[id]?.machine.lose() == true { turn.notify(id, .mediaServicesWereLost) }
        }
    }

    mutating func reset(_ turn: inout AudioTurn) {
        for id in ids where all[id]?.machine.reset() == true { turn.notify(id, .mediaServicesWereReset) }
    }

    // MARK: - Interruptions

    /// Interrupts the active sessions for which `isAffected` is true, and returns them.
    @discardableResult
    mutating func interrupt(
        by owner: AudioInterrupter?, because reason: AudioInterruptionReason = .default, _ turn: inout AudioTurn,
        where isAffected: (AudioSessionID, Session) -> Bool
    ) -> [AudioSessionID] {
        var interrupted: [AudioSessionID] = []
        for id in ids {
            guard let session = all[id], isAffected(id, session), all[id]?.machine.interrupt(by: owner) == true
            else { continue }
            all[id]?.hasHeardOfEnd = false
            turn.notify(id, .interruptionBegan(reason))
            interrupted.append(id)
        }
        // A device was the reason: a paused player must not resume on another device.
        if reason != .default, !interrupted.isEmpty { resumesPlayers = false }
        return interrupted
    }

    /// Interrupts a session again whose client activates it too late after an interruption. The client is notified when
    /// this interruption ends.
    mutating func interruptAgain(_ id: AudioSessionID, by holder: AudioSessionID, _ turn: inout AudioTurn) {
        guard all[id]?.hasHeardOfEnd == true, all[id]?.machine.inherit(from: nil, to: .session(holder)) == true
        else { return }
        all[id]?.hasHeardOfEnd = false
        turn.notify(id, .interruptionBegan(.default))
    }

    /// Ends the interruption by `owner`. If a call is in progress that interrupts others, the call becomes the
    /// interrupter instead.
    mutating func endInterruption(
        of id: AudioSessionID, by owner: AudioInterrupter, shouldResume: Bool, _ scene: AudioScene,
        _ turn: inout AudioTurn
    ) {
        if let heir = scene.holder, heir.others == .interrupt {
            _ = all[id]?.machine.inherit(from: owner, to: .session(heir.id))
        } else if all[id]?.machine.endInterruption(by: owner) == true {
            all[id]?.hasHeardOfEnd = true
            turn.notify(id, .interruptionEnded(shouldResume: shouldResume))
        }
    }

    /// A session is no longer in force. If it is interrupted itself, its interrupter takes over the sessions that it
    /// interrupted; otherwise these are released.
    mutating func leave(_ id: AudioSessionID, from state: AudioSessionStateMachine.State, shouldResume: Bool) {
        guard case .interrupted(by: .session(let heir)?) = state else {
            return release(.session(id), shouldResume: shouldResume)
        }
        for other in all.keys where other != heir {
            _ = all[other]?.machine.inherit(from: .session(id), to: .session(heir))
        }
    }

    /// Marks the sessions that `owner` interrupted for a notice that the interruption ended.
    mutating func release(_ owner: AudioInterrupter, shouldResume: Bool) {
        guard all.values.contains(where: { $0.machine.state.interrupter == owner }) else { return }
        releases.removeAll { $0.owner == owner }
        releases.append(Release(owner: owner, shouldResume: shouldResume))
    }

    /// Notifies the sessions whose interrupter has left.
    ///
    /// - Parameter plan: the server's current plan if another one follows. An interrupter in this plan has not left the
    ///   server.
    mutating func notifyReleased(after plan: AudioPlan?, _ scene: AudioScene, _ turn: inout AudioTurn) {
        let due = releases
        releases = []
        // A call or ringing may have left and returned before the server answered.
        for release in due where !scene.contains(release.owner) {
            if case .session(let owner) = release.owner, plan?.contains(owner) == true {
                releases.append(release)
                continue
            }
            for id in ids {
                endInterruption(of: id, by: release.owner, shouldResume: release.shouldResume, scene, &turn)
            }
        }
    }

    /// Whether the interrupter of a session is still in force.
    func isInForce(_ interrupter: AudioInterrupter, _ scene: AudioScene) -> Bool {
        guard case .session(let id) = interrupter, id >= .firstClient else { return scene.contains(interrupter) }
        return switch all[id]?.machine.state.name {
        case .activating, .active, .interrupted, .deactivating: true
        case .inactive, .lost, nil: false
        }
    }

    // MARK: - Hints

    /// Whether another active session that is not mixable plays.
    func shouldBeSilent(_ id: AudioSessionID, _ scene: AudioScene) -> Bool {
        let running = scene.engine.server.running
        if scene.call.isInPlan, id != .call, running.contains(.call) { return true }
        return all.contains { other, session in
            other != id && session.machine.state.name == .active && !session.configuration.isMixable
                && session.configuration.category.hasOutput && running.contains(other)
        }
    }

    /// Notifies the active sessions in the foreground when they should become silent, and when they no longer need to.
    mutating func notifyHints(_ scene: AudioScene, _ turn: inout AudioTurn) {
        for id in ids {
            guard let session = all[id], session.hasLease, session.machine.state.name == .active else { continue }
            let hint = shouldBeSilent(id, scene)
            guard hint != session.hint else { continue }
            all[id]?.hint = hint
            turn.notify(id, .secondaryAudioShouldBeSilenced(hint))
        }
    }

    /// Notifies every session, active or not, when an input becomes available or the last one is gone.
    mutating func notifyInputs(_ isAvailable: Bool, _ turn: inout AudioTurn) {
        for id in ids where all[id]?.isInputAvailable != isAvailable {
            all[id]?.isInputAvailable = isAvailable
            turn.notify(id, .inputAvailabilityChanged(isAvailable))
        }
    }
}

/// One event on its way through the parts of the arbiter: the time, and the effects so far.
struct AudioTurn {
    let now: BootInstant
    var effects: [AudioEffect] = []

    mutating func notify(_ id: AudioSessionID, _ notice: AudioNotice) { effects.append(.notify(id, notice)) }

    mutating func answer(_ id: AudioSessionID, _ result: Result<AudioRoute, AudioSessionError>) {
        effects.append(.answer(id, result))
    }

    mutating func refuse(_ id: AudioSessionID, _ code: AudioSessionError.Code, _ message: String) {
        effects.append(.refused(id, AudioSessionError(code, message)))
    }
}

/// The sessions of clients, and who interrupted whom.
///
///     open --> Session { client, lease, configuration, AudioSessionStateMachine } --close--> gone
///
///     owner --interrupt--> session: began          owner leaves --> released --> session: ended
///                                                   |                  ^ when the server is without the owner
///                                                   +--interrupted itself: its interrupter inherits the session
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
        /// The last hint that its client got about others that are to be heard alone.
        fileprivate var hint = false
        /// Its client's last notice of an interruption was that of its end.
        fileprivate var hasHeardOfEnd = false
    }

    /// Who interrupted others and has left: these are notified when the server is without it.
    private struct Release: Hashable, Sendable {
        let owner: AudioInterrupter
        let shouldResume: Bool
    }

    private(set) var all: [AudioSessionID: Session] = [:]
    /// Whether players that were paused for those who leave with the next plan play again.
    var resumesPlayers = true
    private var releases: [Release] = []
    private var lastNumber = AudioSessionID.firstClient.number - 1
    private var lastOrder: UInt64 = 0

    /// A session that is open can be changed here, not added or removed.
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

    /// Whether it is open; else that is refused.
    func isOpen(_ id: AudioSessionID, _ turn: inout AudioTurn) -> Bool {
        if all[id] == nil { turn.refuse(id, .expiredSession, "no such session is open") }
        return all[id] != nil
    }

    // MARK: - Coming and going

    /// - Returns: why it was not opened.
    mutating func open(
        _ id: AudioSessionID, _ client: AudioClient, hasLease: Bool, at now: BootInstant
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
        return nil
    }

    /// The client closed it or died. What it did to others is undone as with a deactivation that notifies them: the user
    /// has not chosen that they stay silent.
    mutating func close(_ id: AudioSessionID) {
        guard let session = all.removeValue(forKey: id) else { return }
        leave(id, from: session.machine.state, shouldResume: true)
    }

    /// The speaker that clients asked for is asked for no more.
    mutating func dropSpeaker() {
        for id in all.keys { all[id]?.isSpeakerForced = false }
    }

    /// The connection to the server broke.
    ///
    /// - Parameter wasThere: what was active was so on the server; else only those that are changing are lost.
    mutating func lose(wasThere: Bool, _ turn: inout AudioTurn) {
        for id in ids where wasThere || all[id]?.machine.state.name != .inactive {
            if all[id]?.machine.lose() == true { turn.notify(id, .mediaServicesWereLost) }
        }
    }

    mutating func reset(_ turn: inout AudioTurn) {
        for id in ids where all[id]?.machine.reset() == true { turn.notify(id, .mediaServicesWereReset) }
    }

    // MARK: - Interruptions

    /// Interrupts the active sessions for which `isAffected` holds.
    ///
    /// - Returns: these.
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
        // A device was the reason: what plays on it is not to come out of another one.
        if reason != .default, !interrupted.isEmpty { resumesPlayers = false }
        return interrupted
    }

    /// Interrupts a session whose client asks for it too late after an interruption: it is notified of the end of this one.
    mutating func interruptAgain(_ id: AudioSessionID, by holder: AudioSessionID, _ turn: inout AudioTurn) {
        guard all[id]?.hasHeardOfEnd == true, all[id]?.machine.inherit(from: nil, to: .session(holder)) == true
        else { return }
        all[id]?.hasHeardOfEnd = false
        turn.notify(id, .interruptionBegan(.default))
    }

    /// Ends what `owner` did to the session; a call that goes on holds the session back instead.
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

    /// A session is not in force any more: those that it interrupted are released, or inherited by who interrupts it.
    mutating func leave(_ id: AudioSessionID, from state: AudioSessionStateMachine.State, shouldResume: Bool) {
        guard case .interrupted(by: .session(let heir)?) = state else {
            return release(.session(id), shouldResume: shouldResume)
        }
        for other in all.keys where other != heir {
            _ = all[other]?.machine.inherit(from: .session(id), to: .session(heir))
        }
    }

    /// Those whom `owner` interrupted are to be notified of the end.
    mutating func release(_ owner: AudioInterrupter, shouldResume: Bool) {
        guard all.values.contains(where: { $0.machine.state.interrupter == owner }) else { return }
        releases.removeAll { $0.owner == owner }
        releases.append(Release(owner: owner, shouldResume: shouldResume))
    }

    /// Notifies those whose interrupter has left.
    ///
    /// - Parameter plan: the plan that the server was made after, if another one follows; an interrupter that is in it has not
    ///   left the server.
    mutating func notifyReleased(after plan: AudioPlan?, _ scene: AudioScene, _ turn: inout AudioTurn) {
        let due = releases
        releases = []
        // A call or ringing may have left and come again before the server has answered.
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

    /// Whether who interrupted a session still holds it back.
    func isInForce(_ interrupter: AudioInterrupter, _ scene: AudioScene) -> Bool {
        guard case .session(let id) = interrupter, id >= .firstClient else { return scene.contains(interrupter) }
        return switch all[id]?.machine.state.name {
        case .activating, .active, .interrupted, .deactivating: true
        case .inactive, .lost, nil: false
        }
    }

    // MARK: - Hints

    /// Whether another session, which is to be heard alone, is active and plays.
    func shouldBeSilent(_ id: AudioSessionID, _ scene: AudioScene) -> Bool {
        let running = scene.engine.server.running
        if scene.call.isInPlan, id != .call, running.contains(.call) { return true }
        return all.contains { other, session in
            other != id && session.machine.state.name == .active && !session.configuration.isMixable
                && session.configuration.category.hasOutput && running.contains(other)
        }
    }

    /// Notifies the active sessions in the foreground when they should begin, and may cease, to be silent.
    mutating func notifyHints(_ scene: AudioScene, _ turn: inout AudioTurn) {
        for id in ids {
            guard let session = all[id], session.hasLease, session.machine.state.name == .active else { continue }
            let hint = shouldBeSilent(id, scene)
            guard hint != session.hint else { continue }
            all[id]?.hint = hint
            turn.notify(id, .secondaryAudioShouldBeSilenced(hint))
        }
    }
}

/// One event on its way through the arbiter's parts: what time it is, and what it has brought about so far.
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

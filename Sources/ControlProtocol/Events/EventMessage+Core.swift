package import RingwakeCore

// Makes events from the state machines' values.
extension EventMessage {
    /// A change of `call`, or its current state.
    package init(change call: Call, at now: BootInstant) {
        self = .call(
            CallChange(
                app: call.key.app.rawValue, call: call.key.id.rawValue, number: call.number,
                outgoing: call.machine.isOutgoing ? true : nil, state: call.machine.state.name.rawValue,
                endReason: call.machine.state.endReason?.rawValue,
                deadlineMs: call.machine.stateDeadline.map { now.millisecondsLeft(until: $0) },
                claimMs: call.machine.claimBy.map { now.millisecondsLeft(until: $0) },
                connectedMs: call.connectedMilliseconds(at: now),
                answeredBy: call.timeline.last { $0.stage == .answered }?.by?.rawValue,
                muted: call.machine.isMuted, caller: call.update.caller, callerName: call.update.callerName,
                video: call.update.hasVideo, identifiedAs: call.update.identifiedAs,
                supportsHold: call.update.supportsHold == false ? false : nil,
                supportsDTMF: call.update.supportsDTMF == false ? false : nil,
                supportsMerge: call.update.supportsMerge == true ? true : nil, conference: call.conference,
                atUs: call.receivedAt.microseconds(until: now)))
    }

    /// What the handler of `key` has to do.
    package init(action: PendingAction, of key: CallKey, at now: BootInstant) {
        self = .action(
            Action(
                app: key.app.rawValue, call: key.id.rawValue, action: action.action.rawValue, digits: action.digits,
                with: action.with?.rawValue, deadlineMs: now.millisecondsLeft(until: action.by)))
    }

    package init(credentialsOf app: AppID, areValid: Bool) {
        self = .credentials(Credentials(app: app.rawValue, valid: areValid))
    }

    package init(ignored push: VerifiedPush, _ key: CallKey, _ outcome: PushOutcome) {
        self = .pushIgnored(
            PushIgnored(
                app: key.app.rawValue, call: key.id.rawValue, pushId: push.pushID, outcome: outcome.rawValue))
    }

    package init(waiting key: CallKey, _ kind: WakeRequest.Kind) {
        self = .pushWaiting(PushWaiting(app: key.app.rawValue, call: key.id.rawValue, kind: kind.rawValue))
    }

    package init(strike key: CallKey, _ failure: HandlerFailure) {
        self = .strike(Strike(app: key.app.rawValue, call: key.id.rawValue, failure: failure.rawValue))
    }

    package init(struckOut app: AppID, _ isStruckOut: Bool) {
        self = .struckOut(StruckOut(app: app.rawValue, struckOut: isStruckOut))
    }

    package init(restricted key: CallKey, _ restriction: Restriction) {
        self = .restricted(
            Restricted(
                app: key.app.rawValue, call: key.id.rawValue, restriction: RestrictionMessage(restriction)))
    }

    /// Whether protected data can be read.
    package init(protectedData state: ProtectedDataState, at now: BootInstant) {
        self =
            switch state {
            case .available: .protectedData(ProtectedData(.available))
            case .willBecomeUnavailable(let end):
                .protectedData(
                    ProtectedData(.willBecomeUnavailable, deadlineMs: now.millisecondsLeft(until: end)))
            case .unavailable: .protectedData(ProtectedData(.unavailable))
            }
    }

    package init(cellular isActive: Bool) { self = .cellular(Cellular(active: isActive)) }

    package init(
        handler app: AppID, secret: String?, socket: String, protectedData: ProtectedDataState = .available,
        restrictions: AppRestrictions = AppRestrictions()
    ) {
        let own = PeerVersion.own
        self = .handler(
            Handler(
                app: app.rawValue, features: own.features,
                protectedDataAvailable: protectedData.isAvailable ? nil : false,
                restrictions: restrictions == AppRestrictions() ? nil : RestrictionsMessage(restrictions),
                secret: secret, socket: socket, version: own.version))
    }

    /// The restrictions of an app; nil: of one that do not disturb has no exception for.
    package init(restrictions: AppRestrictions, of app: AppID?) {
        self = .restrictions(
            Restrictions(app: app?.rawValue, restrictions: RestrictionsMessage(restrictions)))
    }

    /// The network path now, for the daemon (`key` nil) or for a call.
    package init(path: PathMessage, of key: CallKey?) {
        self = .path(Path(app: key?.app.rawValue, call: key?.id.rawValue, path: path))
    }

    /// The connection status of the daemon (`app` nil) or of an app.
    package init(connection status: ConnectionStatus, of app: AppID?) {
        self = .connection(
            Connection(app: app?.rawValue, connection: status.state.rawValue, connectionReason: status.why))
    }

    package init(missed call: Call) {
        self = .missed(
            Missed(
                app: call.key.app.rawValue, call: call.key.id.rawValue,
                endReason: call.machine.state.endReason?.rawValue, caller: call.update.caller))
    }

    /// - Parameter activation: The number of the activation, counted for each call.
    package init(audio change: CallAudioChange, of key: CallKey, activation: Int) {
        let (app, call) = (key.app.rawValue, key.id.rawValue)
        switch change {
        case .activated(let route):
            self = .audioActivated(
                AudioActivated(app: app, call: call, activation: activation, route: AudioRouteMessage(route)))
        case .deactivated:
            self = .audioDeactivated(AudioDeactivated(app: app, call: call, activation: activation))
        case .failed(let error):
            self = .audioFailed(
                AudioFailed(
                    app: app, call: call, activation: activation, code: error.code.rawValue,
                    codeNumber: error.code.number, message: error.message))
        case .routeChanged(let reason, let previous, let current):
            self = .audioRouteChanged(
                AudioRouteChanged(
                    app: app, call: call, activation: activation, changeReason: reason.rawValue,
                    previous: AudioRouteMessage(previous), route: AudioRouteMessage(current)))
        }
    }

    /// A change of the audio session of `call`.
    package init(audio change: CallAudioChange, of call: Call) {
        self.init(audio: change, of: call.key, activation: call.audio?.activation ?? 0)
    }

    /// The state of the audio session of `call`, for a stream that begins; nil if there was none.
    package init?(audioOf call: Call) {
        guard let audio = call.audio, !call.machine.hasEnded else { return nil }
        switch audio.phase {
        case .inactive: self.init(audio: .deactivated, of: call)
        case .active(let route): self.init(audio: .activated(route), of: call)
        case .failed(let error): self.init(audio: .failed(error), of: call)
        }
    }
}

extension Call {
    /// How long the two sides have been connected; nil: they never were.
    fileprivate func connectedMilliseconds(at now: BootInstant) -> Int64? {
        guard let connected = timeline.first(where: { $0.stage == .connected }) else { return nil }
        let end = timeline.last { $0.stage == .ended }?.at ?? now
        return connected.at.millisecondsLeft(until: end)
    }
}

internal import RingwakeCore
internal import RunLoop

/// What the server shows by itself: devices that come and go, streams that begin, the user's hand.
extension AudioEngine {
    /// A profile switch is about six events in as many turns: they are looked at together.
    private static var settlingTime: Duration { .milliseconds(50) }

    func changed(_ image: AudioServerImage) {
        guard self.image != nil else { return }
        self.image = image
        unconfirmed = unconfirmed.filter { target in
            guard let record = ledger[target], let value = image.value(of: target) else { return true }
            return !value.isSame(as: record.set)
        }
        // What is under way may have waited for this.
        if work != nil { return advance() }
        if settling != nil { return }
        guard EngineObservation.Devices(image) == observation.devices else {
            let deadline = runLoop.refreshNow().advanced(by: Self.settlingTime)
            settling = runLoop.schedule(at: deadline, tolerance: .zero) { [weak self] in self?.devicesSettled() }
            return
        }
        noticeHand(image)
        keepUp()
    }

    private func devicesSettled() {
        settling = nil
        guard let image, work == nil else { return }
        noticeHand(image)
        let headsets = observation.see(image)
        if !plan.isEmpty, !headsets.isEmpty {
            // A headset that is put on takes the call, whatever was chosen before.
            wishes.arrived += headsets
            wishes.chosen = nil
            wishes.isSpeakerOver = true
        }
        keepUp()
    }

    func keepUp() {
        if let image { takeBackEchoes(image) }
        guard plan.isEmpty, ledger.isEmpty, busy == BusyStreams() else {
            return enqueue(EngineWork(.upkeep(nil), since: runLoop.now))
        }
        let decision = decide()
        observeRoute(decision, nil)
        remember(decision)
        observe()
    }

    func decide() -> RouteDecision {
        guard let image else { return RouteDecision() }
        return RoutePlanner(image: image, session: plan.sessions.first, wishes: wishes).decision
    }

    // MARK: - The user's hand

    /// - Parameter number: by which it is answered, once it is carried out; nil: it was chosen before.
    func choose(_ name: String?, _ number: UInt64?) {
        if let name, let number, let image, !image.hasOutput(name) {
            return tell(.outputChosen(number: number, isKnown: false))
        }
        wishes.choose(name)
        // A plan that is refused leaves this as it is.
        work?.formerWishes.choose(name)
        let isAnyAwaited = ([work].compactMap(\.self) + queue).contains(where: \.isAwaited)
        guard image != nil, !plan.isEmpty || isAnyAwaited else {
            if let number { tell(.outputChosen(number: number, isKnown: true)) }
            return
        }
        if case .upkeep(.override) = queue.last?.kind {
            // It was never begun, and has the newest choice carried out.
            if let number { queue[queue.endIndex - 1].choices.append(number) }
            return
        }
        var work = EngineWork(.upkeep(.override), since: runLoop.refreshNow())
        if let number { work.choices = [number] }
        enqueue(work)
    }

    func wake() {
        if image != nil { enqueue(EngineWork(.upkeep(.wakeFromSleep), since: runLoop.refreshNow())) }
    }

    /// Who moves the call's streams or picks another port in a mixer has chosen: that is not to be undone.
    private func noticeHand(_ image: AudioServerImage) {
        for (target, place) in observation.places {
            guard case .name(let now) = image.value(of: target), now != place, image.canTake(.name(place), for: target)
            else { continue }
            switch target {
            case .playingDevice, .defaultSink: wishes.chosen = now
            case .sinkPort(let sink):
                guard let port = image.sink(named: sink)?.ports.first(where: { $0.name == now }),
                    port.kind != .other, !observation.isNew(sink, now)
                else { continue }
                wishes.chosen = port.kind.rawValue
            default: continue
            }
            wishes.isByHand = true
            wishes.isSpeakerOver = true
            return
        }
    }

    /// Who mutes a microphone has a reason; and what the server itself unmutes was the user's no more than ours.
    func noticeMutes(from former: AudioServerImage, to image: AudioServerImage) {
        microphoneHand.notice(from: former, to: image, isWatching: !plan.isEmpty || plan.isCallWaiting)
        let ownership = StreamOwnership(plan: plan, tree: tree)
        roleCork.notice(from: former, to: image, at: runLoop.now) { stream in
            if stream.properties["media.role"] == "phone" { return true }
            if case .sessions = ownership.owner(of: stream) { return true }
            return false
        }
    }

    /// How things are left, to see what somebody else changes.
    func remember(_ decision: RouteDecision) {
        guard let image else { return }
        observation.see(image)
        observation.card = decision.output.flatMap { image.sink(named: $0.device)?.card }
        observation.places = [:]
        guard let first = plan.sessions.first, let output = decision.output else { return }
        let ownership = StreamOwnership(plan: plan, tree: tree)
        for stream in image.playing.values {
            guard case .sessions(let owners) = ownership.owner(of: stream),
                owners.contains(where: { $0.id == first.id }),
                case .name(let sink) = image.value(of: .playingDevice(stream.index))
            else { continue }
            observation.places[.playingDevice(stream.index)] = sink
        }
        if first.client.processes.isEmpty { observation.places[.defaultSink] = image.defaultSink }
        if let port = output.port { observation.places[.sinkPort(output.device)] = port }
    }

    // MARK: - What is told

    func observeRoute(_ decision: RouteDecision, _ reason: AudioRouteChangeReason?) {
        guard let image, decision.route != observation.route else { return }
        let previous = observation.route
        let reason = reason ?? observation.reason(for: decision.route, in: image)
        let wasHeadset = previous.outputs.first.map { $0.isHeadset && !image.isUsable($0, isInput: false) } ?? false
        observation.route = decision.route
        tell(.routeChanged(reason, previous: previous, current: decision.route))
        if wasHeadset, let first = plan.sessions.first, !first.isCall { tell(.routeDisconnected) }
    }

    func observe() {
        guard let image else { return }
        let ownership = StreamOwnership(plan: plan, tree: tree)
        var running: Set<AudioSessionID> = []
        var othersPlay = false
        for stream in image.playing.values where !stream.isCorked {
            switch ownership.owner(of: stream) {
            case .sessions(let sessions): running.formUnion(sessions.map(\.id))
            case .server: break
            default: othersPlay = othersPlay || !stream.isMuted
            }
        }
        for stream in image.recording.values where !stream.isCorked {
            if case .sessions(let sessions) = ownership.owner(of: stream) { running.formUnion(sessions.map(\.id)) }
        }
        if running != observation.running || othersPlay != observation.othersPlay {
            observation.running = running
            observation.othersPlay = othersPlay
            tell(.activity(running: running, othersPlay: othersPlay))
        }
        observeMicrophone(image)
    }

    private func observeMicrophone(_ image: AudioServerImage) {
        guard plan.sessions.contains(where: \.isInputOpen), let input = observation.route.inputs.first else {
            observation.isMicrophoneMuted = false
            return
        }
        let isMuted = input.kind == .builtInMicrophone && image.source(named: input.device)?.isMuted ?? false
        guard isMuted != observation.isMicrophoneMuted else { return }
        observation.isMicrophoneMuted = isMuted
        tell(.microphoneMuted(isMuted))
    }
}

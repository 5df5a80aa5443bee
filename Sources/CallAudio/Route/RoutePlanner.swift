internal import RingwakeCore

/// What decides a route besides the server and the session: the choices and the new devices since the plan began.
struct RouteWishes: Hashable, Sendable {
    /// The user's choice: a device, or a kind of port.
    var chosen: String?
    /// The choice was made in a mixer, for this call alone.
    var isByHand = false
    /// The speaker was requested after that choice.
    var isSpeakerNewer = false
    /// Devices and ports that appeared while the plan was in force, the newest last (``AudioPort/identity``).
    var arrived: [String] = []
    /// The requested speaker no longer applies: the route has changed since.
    var isSpeakerOver = false
    /// Bluetooth cards that refused to be a headset.
    var refusedCards: Set<String> = []

    /// The user chooses, for this call and the next ones. The last request wins, so it overrides a requested speaker
    /// and a new headset.
    mutating func choose(_ name: String?) {
        chosen = name
        isByHand = false
        guard name != nil else { return }
        isSpeakerOver = true
        arrived = []
    }

    /// Adapts to another plan.
    mutating func adopt(_ plan: AudioPlan, after former: AudioPlan) {
        if plan.sessions.first?.id != former.sessions.first?.id { arrived = [] }
        if plan.isEmpty { self = RouteWishes(chosen: isByHand ? nil : chosen) }
        guard plan.sessions.first?.isSpeakerForced == true, former.sessions.first?.isSpeakerForced != true else {
            return
        }
        // The last request wins.
        isSpeakerOver = false
        isSpeakerNewer = true
    }
}

/// The output and the input of the first session.
struct RouteDecision: Hashable, Sendable {
    var output: AudioPort?
    var input: AudioPort?
    /// Whether there is an input to record from: ``AudioRoute/isInputAvailable``.
    var isInputAvailable = true
    /// The profile that the output's card must have.
    var profile: CardProfile?
    /// The card does not have that profile yet: the final ``output`` appears with it.
    var isProvisional = false

    struct CardProfile: Hashable, Sendable {
        var card: String
        var profile: String
    }

    var route: AudioRoute {
        AudioRoute(
            inputs: input.map { [$0] } ?? [], outputs: output.map { [$0] } ?? [], isInputAvailable: isInputAvailable)
    }

    /// The error if a session that becomes active with this plan needs a device that doesn't exist. One that was active
    /// before stays active without it.
    func lack(for plan: AudioPlan, after former: AudioPlan) -> AudioSessionError? {
        guard !isProvisional else { return nil }
        let beginning = plan.sessions.filter { session in
            former.sessions.first { $0.id == session.id }?.configuration.category != session.configuration.category
        }
        return beginning.lazy.compactMap(lack).first
    }

    /// A call is active with the devices that there are: without a microphone its user listens, without an output the
    /// other side does. It fails only if there is neither.
    private func lack(for session: AudioPlan.Session) -> AudioSessionError? {
        if session.isCall {
            guard output == nil, input == nil else { return nil }
            return AudioSessionError(
                .resourceNotAvailable, "the audio server has no output and no microphone: connect one")
        }
        // Ringing takes no device: what rings is another program.
        guard session.id >= .firstClient else { return nil }
        let category = session.configuration.category
        if category.hasOutput, output == nil {
            return AudioSessionError(.resourceNotAvailable, "the audio server has no output: connect one")
        }
        guard category.hasInput, input == nil, !isInputAvailable else { return nil }
        let code: AudioSessionError.Code = category == .record ? .cannotStartRecording : .resourceNotAvailable
        return AudioSessionError(code, "the audio server has no microphone: connect one")
    }
}

/// Decides the route, in this order: the user's choice, the forced speaker, the session's preference, a new headset,
/// hands-free Bluetooth, a device in a jack, the receiver, the server's default.
struct RoutePlanner {
    let image: AudioServerImage
    let session: AudioPlan.Session?
    let wishes: RouteWishes
    private let outputs: [RouteCandidate]
    private let inputs: [RouteCandidate]
    private let handsFree: [RouteCandidate]

    init(image: AudioServerImage, session: AudioPlan.Session?, wishes: RouteWishes) {
        self.image = image
        self.session = session
        self.wishes = wishes
        outputs = image.outputCandidates
        // A jack without a plug is no microphone. A session that records may use it all the same: the server may be wrong
        // about the plug, and the session would else be refused.
        inputs = image.inputCandidates.filter { session?.isCall != true || $0.availability != .no }
        let isAllowed = session.map { RoutePlanner.allowsHandsFree($0) } ?? false
        handsFree = isAllowed ? image.handsFreeCandidates(without: wishes.refusedCards) : []
    }

    var decision: RouteDecision {
        let output = decideOutput()
        var decision = RouteDecision(output: output?.port, input: nil)
        if let output, let card = output.card.flatMap({ image.cards[$0] }), card.isBluetoothCard {
            if let profile = output.profile {
                decision.profile = .init(card: card.name, profile: profile)
                decision.isProvisional = true
            } else if handsFreeIsWanted, let active = card.activeProfile, HandsFreeProfile.isOne(active) {
                decision.profile = .init(card: card.name, profile: active)
            }
        }
        if session?.configuration.category.hasInput ?? true {
            decision.input = decideInput(for: output)?.port
        }
        decision.isInputAvailable = decision.isProvisional || isInputAvailable
        return decision
    }

    /// Whether a microphone is connected. That of a hands-free device counts for a session that uses none, which could use
    /// it with another category; one that does use a microphone has it in its route, or can't have it.
    private var isInputAvailable: Bool {
        if inputs.contains(where: { $0.availability != .no }) { return true }
        let usesInput = session?.configuration.category.hasInput ?? false
        return !usesInput && !image.handsFreeCandidates(without: wishes.refusedCards).isEmpty
    }

    private static func allowsHandsFree(_ session: AudioPlan.Session) -> Bool {
        session.configuration.category.hasInput
            && session.configuration.effectiveOptions.contains(.allowBluetoothHFP)
    }

    private var handsFreeIsWanted: Bool { session.map { RoutePlanner.allowsHandsFree($0) } ?? false }

    /// Whether it is a call or a recording: only for these do the user's choice, headsets and the receiver count.
    private var isVoice: Bool { session.map { $0.isCall || $0.configuration.category.hasInput } ?? false }

    // MARK: - Output

    private func decideOutput() -> RouteCandidate? {
        guard let session else { return defaultOutput }
        let forced = session.isSpeakerForced && !wishes.isSpeakerOver ? speaker : nil
        if wishes.isSpeakerNewer, let forced { return forced }
        if isVoice, let chosen = wishes.chosen.flatMap(output(matching:)) { return chosen }
        if let forced { return forced }
        if let preferred = session.configuration.preferredOutput.flatMap(output(matching:)) { return preferred }
        if let headset = arrivedHeadset { return headset }
        if isVoice {
            if let headset = handsFreeOutput { return headset }
            if let wired = pluggedIn { return wired }
            if let end = receiverOrSpeaker(session.configuration) { return end }
        }
        return defaultOutput
    }

    private var defaultOutput: RouteCandidate? {
        candidate(ofDevice: image.defaultSink, in: outputs) ?? outputs.first
    }

    /// The active port of a device, or its best usable port.
    private func candidate(ofDevice name: String?, in candidates: [RouteCandidate]) -> RouteCandidate? {
        guard let name else { return nil }
        let ports = candidates.filter { $0.port.device == name }
        if let active = ports.first(where: { $0.isActive && $0.availability != .no }) { return active }
        return ports.first { $0.availability == .yes } ?? ports.first { $0.availability == .unknown } ?? ports.first
    }

    private func output(matching name: String) -> RouteCandidate? {
        let match = match(name, in: outputs)
        // The same device as a headset, if the session needs one that records.
        if let match, match.port.kind == .bluetoothA2DP,
            let headset = handsFree.first(where: { $0.card == match.card })
        {
            return headset
        }
        return match ?? handsFree.first { $0.port.device == name || $0.port.kind.rawValue == name }
    }

    private func match(_ name: String, in candidates: [RouteCandidate]) -> RouteCandidate? {
        if let device = candidate(ofDevice: name, in: candidates) { return device }
        let ofKind = candidates.filter { $0.port.kind.rawValue == name && $0.availability != .no }
        return ofKind.first(where: \.isActive) ?? ofKind.first
    }

    private var speaker: RouteCandidate? {
        let speakers = outputs.filter { $0.port.kind == .builtInSpeaker && $0.availability != .no }
        return speakers.first { $0.port.device == image.defaultSink } ?? speakers.first
    }

    private var arrivedHeadset: RouteCandidate? {
        for identity in wishes.arrived.reversed() {
            if let found = outputs.first(where: { $0.port.identity == identity && $0.isPersonal }) {
                return handsFree.first { $0.card == found.card && found.port.kind == .bluetoothA2DP } ?? found
            }
        }
        return nil
    }

    private var handsFreeOutput: RouteCandidate? {
        guard handsFreeIsWanted else { return nil }
        let present = outputs.filter { $0.port.kind == .bluetoothHFP }
        let all = present + handsFree
        let defaultCard = image.defaultSink.flatMap { image.sink(named: $0)?.card }
        return all.first { $0.card == defaultCard && defaultCard != nil } ?? all.first
    }

    /// A device in a jack, if the default is a loudspeaker. Any other default was set up on purpose.
    private var pluggedIn: RouteCandidate? {
        switch defaultOutput?.port.kind {
        case .builtInSpeaker, .builtInReceiver, .hdmi, nil: break
        default: return nil
        }
        let plugged = outputs.filter { ($0.port.kind == .headphones || $0.port.kind == .headset) && $0.isPersonal }
        return plugged.first { $0.port.device == image.defaultSink } ?? plugged.first
    }

    private func receiverOrSpeaker(_ configuration: AudioSessionConfiguration) -> RouteCandidate? {
        guard configuration.category == .playAndRecord else { return nil }
        if configuration.effectiveOptions.contains(.defaultToSpeaker) {
            return defaultOutput?.port.kind == .builtInReceiver ? speaker : nil
        }
        switch defaultOutput?.port.kind {
        case .builtInSpeaker, nil:
            return outputs.first { $0.port.kind == .builtInReceiver && $0.availability != .no }
        default: return nil
        }
    }

    // MARK: - Input

    private func decideInput(for output: RouteCandidate?) -> RouteCandidate? {
        if let preferred = session?.configuration.preferredInput.flatMap({ match($0, in: inputs) }) { return preferred }
        if isVoice, let output, output.isPersonal, let headset = microphone(of: output) { return headset }
        let usable = inputs.filter { $0.availability != .no || $0.isActive }
        return candidate(ofDevice: image.defaultSource, in: usable) ?? usable.first
    }

    /// The microphone of the same headset.
    private func microphone(of output: RouteCandidate) -> RouteCandidate? {
        let siblings = inputs.filter { $0.card != nil && $0.card == output.card && $0.availability != .no }
        switch output.port.kind {
        case .bluetoothHFP, .bluetoothA2DP: return siblings.first
        default: return siblings.first { $0.port.kind == .headset }
        }
    }
}

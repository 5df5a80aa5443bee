// What concerns one call.
extension SessionStateMachine {
    /// The calls that are not over, the oldest first.
    var activeCalls: [CallInfo] {
        calls.values.sorted { ($0.number ?? .max, $0.info.call) < ($1.number ?? .max, $1.info.call) }
            .map(\.info)
    }

    // MARK: - Pushes

    /// A push that the daemon gave to this process, in whichever way.
    mutating func take(_ push: IncomingPush) -> [Effect] {
        let known = calls[push.call]
        switch push.kind {
        case .claim:
            // Of a call that this process had before the app need not think.
            if known?.info.isOwn == true { return claim(push.call) }
            // It comes with each fetch until it is claimed.
            if known?.isClaimTold == true { return [] }
            calls[push.call] = known ?? SessionCall(CallInfo(call: push.call, app: app, state: .woken))
            calls[push.call]?.isClaimTold = true
        case .call:
            // Another attempt: the daemon was restarted, and knows nothing of a report.
            if let known, known.attempt >= push.attempt { return [] }
            own(push.call)
            calls[push.call]?.attempt = push.attempt
        case .update:
            own(push.call)
        }
        return [.tellPush(push)]
    }

    /// Of a call that was not reported all comes again with each fetch.
    mutating func take(fetched push: IncomingPush) -> [Effect] {
        let effects = take(push)
        guard push.kind == .update, !effects.isEmpty else { return effects }
        let state = calls[push.call]?.info.state
        guard state == .queued || state == .woken else { return effects }
        return calls[push.call]?.fetched.insert(push.payload).inserted == true ? effects : []
    }

    /// This process has the call from now on.
    mutating func own(_ call: String) {
        var entry = calls[call] ?? SessionCall(CallInfo(call: call, app: app, state: .woken))
        entry.info.isOwn = true
        calls[call] = entry
    }

    /// What ``beginOwning(_:isClaim:)`` changed.
    struct Owning: Sendable {
        var isNew = false
        var isClaim = false
    }

    /// The app reports or claims the call: what is asked of it may be told before that is answered.
    mutating func beginOwning(_ call: String, isClaim: Bool) -> Owning {
        guard let entry = calls[call] else {
            if ownWhenTold.count < SessionStateMachine.maximumHeardEnds { ownWhenTold.insert(call) }
            return Owning(isNew: true)
        }
        let owning = Owning(isNew: !entry.info.isOwn, isClaim: isClaim && !entry.isBeingClaimed)
        calls[call]?.info.isOwn = true
        if isClaim { calls[call]?.isBeingClaimed = true }
        return owning
    }

    /// The daemon refused it.
    mutating func endOwning(_ call: String, _ owning: Owning) {
        if owning.isNew {
            ownWhenTold.remove(call)
            calls[call]?.info.isOwn = false
        }
        if owning.isClaim { calls[call]?.isBeingClaimed = false }
    }

    // MARK: - Where a call stands

    mutating func take(_ line: StreamLine.CallLine) -> [Effect] {
        let isFirst = untold.remove(line.call) != nil
        if let number = line.number {
            highestNumber = max(highestNumber, number)
            guard !heardEnds.contains(number) else { return [] }
        }
        guard line.state != .ended else { return end(line) }
        var entry = calls[line.call] ?? SessionCall(CallInfo(call: line.call, app: app, state: line.state))
        let before = entry.isTold ? entry.info : nil
        if ownWhenTold.remove(line.call) != nil { entry.info.isOwn = true }
        entry.isTold = true
        entry.number = line.number ?? entry.number
        entry.info.state = line.state
        entry.info.endReason = line.reason
        entry.info.caller = line.caller ?? entry.info.caller
        entry.info.identifiedAs = line.identifiedAs ?? entry.info.identifiedAs
        entry.info.isMuted = line.isMuted
        if line.state != .queued, line.state != .woken { entry.fetched = [] }
        let isClaimed = entry.isBeingClaimed && line.claimWithin == nil
        if isClaimed { entry.isBeingClaimed = false }
        calls[line.call] = entry
        // What is owed follows at once: on a new stream, and when the call has a handler again.
        if isFirst || isClaimed { replayed = line.call }
        var effects: [Effect] = before == entry.info ? [] : [.tellCall(.changed(entry.info))]
        if isClaimed { effects.append(.tellCall(.claimed(entry.info))) }
        guard let within = line.claimWithin else {
            calls[line.call]?.isClaimTold = false
            return effects
        }
        guard entry.info.isOwn else { return effects + [.tellCall(.lost(entry.info, claimWithin: within))] }
        return effects + claim(line.call)
    }

    private mutating func end(_ line: StreamLine.CallLine) -> [Effect] {
        var info = calls[line.call]?.info ?? CallInfo(call: line.call, app: app, state: .ended)
        // A call of this id has come since; it is this one that goes on.
        if let number = line.number, let known = calls[line.call]?.number, known > number { return [] }
        info.state = .ended
        info.endReason = line.reason ?? .failed
        info.caller = line.caller ?? info.caller
        info.identifiedAs = line.identifiedAs ?? info.identifiedAs
        let number = line.number ?? calls[line.call]?.number
        calls[line.call] = nil
        if let number { heardEnds.insert(number) }
        if heardEnds.count > SessionStateMachine.maximumHeardEnds, let oldest = heardEnds.min() {
            heardEnds.remove(oldest)
        }
        return endStaleAudio(of: line.call) + [.tellCall(.ended(info, reason: line.reason ?? .failed))]
    }

    /// Where a call stands that the new stream may not have told of.
    ///
    /// - Parameter line: nil: the daemon knows no such call.
    mutating func lookedUp(_ call: String, _ line: StreamLine.CallLine?) -> [Effect] {
        guard let entry = calls[call] else { return [] }
        guard var line else {
            return end(StreamLine.CallLine(call: call, number: entry.number, state: .ended, reason: .failed))
        }
        // The stream says later what goes on; only an end could be missing there.
        guard line.state == .ended else { return [] }
        line.number = entry.number
        return end(line)
    }

    // MARK: - Claims

    private mutating func claim(_ call: String) -> [Effect] {
        guard isOpen, calls[call]?.isBeingClaimed == false else { return [] }
        calls[call]?.isBeingClaimed = true
        return [.claim(call)]
    }

    /// The claim was refused, or never heard. One that was taken shows in the stream.
    mutating func claimFailed(_ call: String) -> [Effect] {
        guard calls[call]?.isBeingClaimed == true else { return [] }
        calls[call]?.isBeingClaimed = false
        return isOpen ? [.lookUp(call)] : []
    }

    // MARK: - Actions

    mutating func action(_ call: String, _ kind: CallAction.Kind, _ within: Duration) -> [Effect] {
        guard var entry = calls[call], entry.info.isOwn else { return [] }
        if replayed == call || entry.isBeingClaimed {
            let known = entry.repeated(kind)
            calls[call] = entry
            switch known {
            case .known: return []
            case .fulfilled: return [.fulfillAgain(call, kind)]
            case .none: break
            }
        }
        // One of that kind that was told before is over: its time was, for nothing is asked twice.
        if !kind.isDigits { entry.owed.removeAll { $0.kind == kind } }
        let number = nextActionNumber
        nextActionNumber += 1
        entry.owed.append(SessionCall.Owed(number: number, kind: kind))
        // As many digits as the daemon lets wait, and each other kind once.
        if entry.owed.count > SessionStateMachine.maximumOwed { entry.owed.removeFirst() }
        calls[call] = entry
        return [.tellAction(call: call, kind, number: number, within: within)]
    }

    private static var maximumOwed: Int { 64 }
    /// As many calls that are over as the daemon knows.
    private static var maximumHeardEnds: Int { 1_024 }

    /// The app answers an action.
    ///
    /// - Returns: False when nobody asked for it, or asks for it any more.
    mutating func beginAnswer(_ call: String, _ number: UInt64) -> Bool {
        guard let index = calls[call]?.owed.firstIndex(where: { $0.number == number }),
            calls[call]?.owed[index].isBeingAnswered == false
        else { return false }
        calls[call]?.owed[index].isBeingAnswered = true
        return true
    }

    /// What became of an answer.
    enum AnswerOutcome: Sendable {
        case fulfilled
        case failed
        /// The daemon asks for it no more.
        case over
        /// Nobody knows: it may be tried again.
        case unknown
    }

    mutating func endAnswer(_ call: String, _ number: UInt64, _ outcome: AnswerOutcome) {
        guard let index = calls[call]?.owed.firstIndex(where: { $0.number == number }) else { return }
        if case .unknown = outcome {
            calls[call]?.owed[index].isBeingAnswered = false
            return
        }
        guard let owed = calls[call]?.owed.remove(at: index) else { return }
        if case .fulfilled = outcome, owed.kind == .answer || owed.kind == .end {
            calls[call]?.fulfilled.insert(owed.kind)
        }
    }
}

extension CallAction.Kind {
    var isDigits: Bool { if case .dtmf = self { true } else { false } }
}

/// What is known about a call, from its payload and from the handler's report; CallKit's `CXCallUpdate`.
package struct CallUpdate: Hashable, Sendable {
    /// The caller: a SIP URI, a number, or any handle of the app. Untrusted text.
    package var caller: String?
    /// The name to show. Untrusted text.
    package var callerName: String?
    /// Whether the call has video; nil if unknown.
    package var hasVideo: Bool?
    /// The caller's name in an identification list: a guess, to be shown as one. Untrusted text.
    package var identifiedAs: String?
    /// Whether the handler can hold the call, as far as it has said; CallKit's `supportsHolding`.
    package var supportsHold: Bool?
    /// Whether the handler can play digits in it, as far as it has said; CallKit's `supportsDTMF`.
    package var supportsDTMF: Bool?
    /// Whether the handler can mix it with another call; CallKit's `supportsGrouping`. A handler that doesn't say so can't.
    package var supportsMerge: Bool?
    /// Whether the call answers itself: its app's policy says so of this caller.
    package var answersItself: Bool?
    /// The class that keeps from reading who called. The journal has it, and it can be read when the class is available.
    package var lockedBy: ProtectionClass?

    /// The maximum size of a stored handle or name in bytes.
    package static let maximumTextBytes = 256

    package init(
        caller: String? = nil, callerName: String? = nil, hasVideo: Bool? = nil, identifiedAs: String? = nil
    ) {
        self.caller = caller
        self.callerName = callerName
        self.hasVideo = hasVideo
        self.identifiedAs = identifiedAs
    }

    /// Takes the values of `newer`, and keeps the others.
    package mutating func merge(_ newer: CallUpdate) {
        // A name alone does not say who it is: the record that can't be read now stays.
        if newer.caller != nil { lockedBy = nil }
        caller = newer.caller ?? caller
        callerName = newer.callerName ?? callerName
        hasVideo = newer.hasVideo ?? hasVideo
        identifiedAs = newer.identifiedAs ?? identifiedAs
        supportsHold = newer.supportsHold ?? supportsHold
        supportsDTMF = newer.supportsDTMF ?? supportsDTMF
        supportsMerge = newer.supportsMerge ?? supportsMerge
        answersItself = newer.answersItself ?? answersItself
    }

    /// Takes what has changed in a reported call. If it goes on with somebody else, nothing is kept of who it was.
    package mutating func change(to newer: CallUpdate) {
        if let other = newer.caller, other != caller { (callerName, identifiedAs, answersItself) = (nil, nil, nil) }
        merge(newer)
    }
}

extension CallEngine {
    /// What a handler knows about its call has changed.
    mutating func update(
        _ key: CallKey, _ update: CallUpdate, by wake: WakeID?, at now: BootInstant
    ) -> [Effect] {
        guard let call = calls[key] else { return [.refused(.unknownCall(key))] }
        guard wake == nil || call.handler == wake else { return [.refused(.notOwned(key))] }
        // Nobody has an outgoing call yet that is queued, and it goes to whom it was begun for.
        guard !call.machine.hasEnded, call.machine.state != .queued else {
            return [.refused(.wrongState(key, call.machine.state))]
        }
        var isNew = false
        let changed = calls.change(key) { isNew = $0.change(to: update) }
        guard isNew, let changed else { return [] }
        // It was to be held for a cellular call as soon as it is connected, and can't be.
        let isInTheWay = changed.update.supportsHold == false && changed.machine.actions.yields
        return [.callChanged(changed)] + (isInTheWay ? end(key, at: now) : [])
    }

    /// Refuses what the call's handler can't do in it.
    func unsupported(_ action: CallAction, in key: CallKey) -> Effect? {
        guard let update = calls.active[key]?.update else { return nil }
        let isSupported = action == .hold ? update.supportsHold : update.supportsDTMF
        return isSupported == false ? .refused(.unsupported(key, action)) : nil
    }
}

internal import RingwakeCore

/// What is counted of audio since the daemon's start.
nonisolated struct AudioCounters {
    /// Activations for calls, and how long they took: from the fulfilled answer until the server had acknowledged all.
    private(set) var activations: UInt64 = 0
    private(set) var activationTime = Duration.zero
    private(set) var longestActivation = Duration.zero
    /// What was done to the server, put back, and left as the user had changed it meanwhile.
    private(set) var effectsMade: UInt64 = 0
    private(set) var effectsUndone: UInt64 = 0
    private(set) var effectsLeft: UInt64 = 0
    /// What is in force now.
    private(set) var inForce = 0
    private(set) var failures: [AudioSessionError.Code: UInt64] = [:]

    mutating func noteActivation(after time: Duration) {
        activations &+= 1
        activationTime += time
        longestActivation = max(longestActivation, time)
    }

    mutating func note(_ applied: AudioApplied) {
        effectsMade &+= UInt64(clamping: applied.made)
        effectsUndone &+= UInt64(clamping: applied.undone)
        effectsLeft &+= UInt64(clamping: applied.left)
        inForce = applied.inForce
    }

    mutating func noteMended(_ count: Int) { effectsUndone &+= UInt64(clamping: count) }

    mutating func noteFailure(_ code: AudioSessionError.Code) { failures[code, default: 0] &+= 1 }

    /// The way to the server is closed: whoever held it has put everything back.
    mutating func noteEnd() { inForce = 0 }
}

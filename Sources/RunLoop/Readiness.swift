/// What a source waits for.
package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)
}

/// What a descriptor is ready for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let read = Readiness(rawValue: 1)
    package static let write = Readiness(rawValue: 2)
    /// Both directions are closed. Comes together with what was asked for, so that a read or a write shows it.
    package static let hangup = Readiness(rawValue: 4)
    /// The descriptor has a pending error. Comes together with what was asked for.
    package static let error = Readiness(rawValue: 8)
}

/// One watched descriptor of a run loop.
///
/// The loop holds the callback until `cancel`; letting go of this object does not end the watch. The descriptor stays
/// its owner's, who cancels *before* closing it.
package final class ReadinessSource {
    private weak var loop: RunLoop?
    private let token: SourceToken

    init(loop: RunLoop, token: SourceToken) {
        self.loop = loop
        self.token = token
    }

    /// Changes what is waited for. Nothing (`[]`) parks the source: it then sees no hang-up and no error either.
    /// No system call when it is what it was; no effect after `cancel`.
    package func update(_ interest: Interest) throws(RunLoopError) {
        try loop?.update(token, to: interest)
    }

    /// Ends the watch. No event comes after it, not even one that the kernel had reported already. Idempotent.
    package func cancel() {
        loop?.cancel(token)
    }
}

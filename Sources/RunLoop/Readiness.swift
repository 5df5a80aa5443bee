/// The events that a source waits for.
package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)
}

/// The events that a descriptor is ready for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let read = Readiness(rawValue: 1)
    package static let write = Readiness(rawValue: 2)
    /// Both directions are closed. Reported together with the requested events, so that a read or write finds out.
    package static let hangup = Readiness(rawValue: 4)
    /// The descriptor has a pending error. Reported together with the requested events.
    package static let error = Readiness(rawValue: 8)
}

/// One watched descriptor of a run loop.
///
/// The loop keeps the callback until `cancel`; releasing this object doesn't end the watch. The caller owns the
/// descriptor, and has to cancel *before* closing it.
package final class ReadinessSource {
    private weak var loop: RunLoop?
    private let token: SourceToken

    init(loop: RunLoop, token: SourceToken) {
        self.loop = loop
        self.token = token
    }

    /// Changes the events to wait for. With none (`[]`) hang-ups and errors aren't reported either. No system call if
    /// nothing changes; no effect after `cancel`.
    package func update(_ interest: Interest) throws(RunLoopError) {
        try loop?.update(token, to: interest)
    }

    /// Ends the watch. No event follows, not even one that the kernel has already reported. Idempotent.
    package func cancel() {
        loop?.cancel(token)
    }
}

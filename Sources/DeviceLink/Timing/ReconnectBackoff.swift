package import RingwakeCore

/// When a device tries to connect to its gateway.
///
///                                  deadline, path
///     start --> waiting ------------ advance ------------> attempting --established--> linked
///                ^  ^  ^                                     |   |                      |  |
///                |  |  +------- attemptFailed, path lost ----+   |                      |  |
///                |  +---------------------------- linkLost -----------------------------+  |
///                |                                               |                         |
///                +------- revoked, takenOver (first, second) ----+-------------------------+
///                                                                |                         |
///     stopped <---------------- takenOver (third in 10 minutes) -+-------------------------+
///
/// The labels of the arrows are functions.
///
/// - *waiting*: for a deadline and for a network path. Without a path there is no attempt and no timer.
/// - *attempting*: the driver resolves, connects and waits for CONNACK. It has time limits of its own.
/// - *linked*: the gateway accepted the device.
/// - *stopped*: two devices use one key. Only a person can settle that.
///
/// Each wait is drawn with *full jitter*, evenly from zero to a limit, so that devices that lost their gateway in the
/// same second do not return in the same second. The limit of the back-off doubles from 1 s to 15 min.
package struct ReconnectBackoff: Hashable, Sendable {
    package private(set) var state: State
    private var hasPath: Bool
    /// The number of doublings of the next wait.
    private var failures = 0
    /// When a path change last reset the back-off.
    private var lastReset: BootInstant?
    /// When another link took over, the oldest first; at most ``maximumTakeOvers``.
    private var takeOvers: [BootInstant] = []
    /// The gateway revoked the device and has not accepted it since.
    private var isRevoked = false

    /// The limit of the first wait.
    package static let shortest = Duration.seconds(1)
    /// The limit of every later wait.
    package static let longest = Duration.seconds(15 * 60)
    /// The longest time that a gateway may announce. Longer ones are a mistake and must not silence a device.
    package static let longestAnnounced = Duration.seconds(60 * 60)
    /// Path changes reset the back-off at most once in this time.
    package static let resetInterval = Duration.seconds(60)
    /// A link that lasts as long ends the back-off. A gateway that accepts and closes at once does not.
    package static let stableAfter = Duration.seconds(60)
    /// The wait after a take-over.
    package static let takeOverWait = Duration.seconds(15)
    /// Take-overs are counted for this time.
    package static let takeOverWindow = Duration.seconds(10 * 60)
    /// This many take-overs within the window stop the device.
    package static let maximumTakeOvers = 3
    /// A revoked device tries this often.
    package static let revokedInterval = Duration.seconds(24 * 60 * 60)

    /// A device that tries at once if it has a path, otherwise as soon as it gets one.
    package init(hasPath: Bool, at now: BootInstant) {
        self.hasPath = hasPath
        state = .waiting(until: now, .backOff)
    }

    /// When ``advance(to:)`` has something to do; nil in other states than *waiting* and while there is no path.
    package var nextDeadline: BootInstant? {
        guard hasPath, case .waiting(let until, _) = state else { return nil }
        return until
    }

    /// Starts an attempt if one is due.
    package mutating func advance(to now: BootInstant) -> [Action] {
        guard let nextDeadline, nextDeadline <= now else { return [] }
        state = .attempting
        return [.connect]
    }

    // MARK: - The network

    /// The network path has changed: it was lost, came back or is another one now.
    ///
    /// A changed path resets the back-off. It does not shorten a wait that the gateway asked for.
    package mutating func pathChanged(
        hasPath: Bool, at now: BootInstant, using random: inout some RandomNumberGenerator
    ) -> [Action] {
        self.hasPath = hasPath
        guard hasPath else {
            guard state == .attempting else { return [] }
            // It counts as failed. Otherwise a path that comes and goes would cause an attempt each time.
            return [.abandon] + attemptFailed(at: now, using: &random)
        }
        guard needsReset(at: now), lastReset.map({ $0.advanced(by: Self.resetInterval) <= now }) ?? true else {
            return advance(to: now)
        }
        lastReset = now
        failures = 0
        let abandoned: [Action] = state == .attempting ? [.abandon] : []
        backOff(at: now, using: &random)
        return abandoned + advance(to: now)
    }

    /// Whether the path change makes a difference: an attempt on the old path, or a wait that is not over.
    private func needsReset(at now: BootInstant) -> Bool {
        switch state {
        case .attempting: true
        case .waiting(let until, .backOff): !isRevoked && now < until
        case .waiting, .linked, .stopped: false
        }
    }

    // MARK: - Results of an attempt

    /// The gateway accepted the device. Changes nothing if no attempt is in progress.
    package mutating func established(at now: BootInstant) {
        guard state == .attempting else { return }
        isRevoked = false
        state = .linked(since: now)
    }

    /// The attempt failed, or the gateway refused it. Changes nothing if no attempt is in progress.
    ///
    /// - Parameter retryAfter: the time that the gateway announced. The wait is drawn from this time or from that of
    ///   the back-off, whichever is longer, so that an announcement of zero cannot cause a busy loop.
    package mutating func attemptFailed(
        retryAfter: Duration? = nil, at now: BootInstant, using random: inout some RandomNumberGenerator
    ) -> [Action] {
        guard state == .attempting else { return [] }
        if isRevoked {
            waitForPardon(at: now, using: &random)
        } else {
            backOff(announced: retryAfter, at: now, using: &random)
        }
        return []
    }

    // MARK: - The end of a link

    /// The link has ended by an error, or by a gateway that shuts down. Changes nothing if there is no link.
    ///
    /// - Parameter retryAfter: the time that the gateway announced when it drained its links.
    package mutating func linkLost(
        retryAfter: Duration? = nil, at now: BootInstant, using random: inout some RandomNumberGenerator
    ) -> [Action] {
        guard case .linked(let since) = state else { return [] }
        if since.advanced(by: Self.stableAfter) <= now { failures = 0 }
        backOff(announced: retryAfter, at: now, using: &random)
        return advance(to: now)
    }

    /// Another link with this device's key took over (0x8E). Changes nothing without a link or an attempt.
    ///
    /// Not for an old connection of this very process: the driver knows that it opened a newer one.
    package mutating func takenOver(
        at now: BootInstant, using random: inout some RandomNumberGenerator
    ) -> [Action] {
        guard isActive else { return [] }
        takeOvers.removeAll { $0.advanced(by: Self.takeOverWindow) <= now }
        takeOvers.append(now)
        guard takeOvers.count < Self.maximumTakeOvers else {
            state = .stopped
            return [.report(.takenOver)]
        }
        let jitter = Self.draw(Self.takeOverWait * (1 << (takeOvers.count - 1)) - Self.takeOverWait, using: &random)
        state = .waiting(until: now.advanced(by: Self.takeOverWait + jitter), .takenOver)
        return []
    }

    /// The gateway does not know the device any more (0x87 or 0x98). Changes nothing without a link or an attempt.
    package mutating func revoked(at now: BootInstant, using random: inout some RandomNumberGenerator) -> [Action] {
        guard isActive else { return [] }
        let isNew = !isRevoked
        isRevoked = true
        waitForPardon(at: now, using: &random)
        return isNew ? [.report(.revoked)] : []
    }

    // MARK: - Waits

    private var isActive: Bool {
        switch state {
        case .attempting, .linked: true
        case .waiting, .stopped: false
        }
    }

    /// Waits for a time drawn from the back-off, or from the announced time if that is longer.
    private mutating func backOff(
        announced: Duration? = nil, at now: BootInstant, using random: inout some RandomNumberGenerator
    ) {
        // 1 s doubled ten times is above the longest wait.
        let limit = min(Self.shortest * (1 << min(failures, 10)), Self.longest)
        failures = min(failures + 1, 10)
        let asked = min(announced ?? .zero, Self.longestAnnounced)
        let wait: Wait = asked > limit ? .announced : .backOff
        state = .waiting(until: now.advanced(by: Self.draw(max(limit, asked), using: &random)), wait)
    }

    /// Waits for a day. The jitter keeps devices apart that a gateway with a lost database has refused.
    private mutating func waitForPardon(at now: BootInstant, using random: inout some RandomNumberGenerator) {
        let wait = Self.revokedInterval + Self.draw(Self.longest, using: &random)
        state = .waiting(until: now.advanced(by: wait), .revoked)
    }

    /// Full jitter: evenly from zero to `limit`.
    private static func draw(_ limit: Duration, using random: inout some RandomNumberGenerator) -> Duration {
        .nanoseconds(Int64.random(in: 0...max(limit.saturatingNanoseconds, 0), using: &random))
    }
}

extension ReconnectBackoff {
    package enum State: Hashable, Sendable {
        case waiting(until: BootInstant, Wait)
        case attempting
        case linked(since: BootInstant)
        case stopped
    }

    /// Why a device waits.
    package enum Wait: Hashable, Sendable {
        /// The only wait that a path change shortens.
        case backOff
        /// The gateway announced it.
        case announced
        /// Another link took over.
        case takenOver
        /// The gateway does not know the device.
        case revoked
    }

    /// What the driver must do, in this order.
    package enum Action: Hashable, Sendable {
        /// Start an attempt.
        case connect
        /// Give up the attempt in progress. Its result needs not be reported.
        case abandon
        /// Tell the person.
        case report(Problem)
    }

    package enum Problem: Hashable, Sendable {
        /// Two devices use the same key, for example after a disk image was cloned. The device has stopped.
        case takenOver
        /// The gateway has revoked this device or never knew it. The device tries once a day.
        case revoked
    }
}

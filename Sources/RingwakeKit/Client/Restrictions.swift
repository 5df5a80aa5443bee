internal import ControlProtocol
public import FoundationEssentials
internal import RunLoop

/// What is restricted on the device, as this app may know it. The daemon applies what concerns ringing; what an app shows
/// and offers is for the app to restrict.
public struct Restrictions: Hashable, Sendable {
    /// Do not disturb, as it applies to this app.
    public struct DoNotDisturb: Hashable, Sendable {
        /// Whether the app's calls don't ring now. Callers that the user allows ring nevertheless.
        public var isActive: Bool
        /// When that ends by itself; nil if it doesn't, or if it isn't active.
        public var until: Date?

        public init(isActive: Bool, until: Date? = nil) {
            self.isActive = isActive
            self.until = until
        }
    }

    /// A content rating on Apple's scale.
    public struct ContentRating: Hashable, Sendable {
        /// `4+`, `9+`, `12+` or `17+`; `none` if no app of the scale is allowed.
        public var name: String
        /// Its number in Apple's configuration profiles (`ratingApps`): 100, 200, 300 or 600; 0 for `none`.
        public var number: Int

        public init(name: String, number: Int) {
            self.name = name
            self.number = number
        }
    }

    public var doNotDisturb = DoNotDisturb(isActive: false)
    /// The highest rating that an app may have; nil: apps are not restricted by it.
    public var contentRating: ContentRating?
    /// Whether the app may show explicit content.
    public var allowsExplicitContent = true
    /// Whether the app may offer calls with video. A call that has video rings nevertheless.
    public var allowsVideoCalls = true

    /// Nothing is restricted.
    public init() {}

    init(_ message: RestrictionsMessage) {
        doNotDisturb = DoNotDisturb(
            isActive: message.doNotDisturb.active,
            until: message.doNotDisturb.until.flatMap { UTCTime($0) }.map {
                Date(timeIntervalSince1970: Double($0.milliseconds) / 1000)
            })
        contentRating = message.rating.map { ContentRating(name: $0.name, number: $0.number) }
        allowsExplicitContent = message.explicitContentAllowed
        allowsVideoCalls = message.videoCallsAllowed
    }
}

extension RingwakeClient {
    /// What is restricted now.
    ///
    /// Nothing until the client has connected; while it isn't connected, what the daemon said last.
    public var restrictions: Restrictions { state.restrictions.value ?? Restrictions() }

    /// The current restrictions, and each change. A slow reader gets only the newest. The stream ends with the client,
    /// which lives as long as the stream is read.
    public var restrictionUpdates: AsyncStream<Restrictions> {
        state.restrictions.stream(holding: self) { notifyNewObserversOfRestrictions() }
    }

    /// Calls `body` with the current restrictions and with each change, on the client's thread. It must not block.
    @discardableResult
    public func observeRestrictions(_ body: @escaping @Sendable (Restrictions) -> Void) -> Observation {
        let number = state.restrictions.add(.init(body: body))
        if number != nil { notifyNewObserversOfRestrictions() }
        return Observation { [state] in if let number { state.restrictions.remove(number) } }
    }

    private func notifyNewObserversOfRestrictions() {
        queue.post { [state] _ in state.restrictions.notifyNew() }
    }

    /// Whether the user blocks a caller: a number, a SIP or tel URI, a handle. Also while the device is locked.
    ///
    /// Ask when a caller matters, as for a call that the app is about to show. An app can't try out who is blocked: it may
    /// ask about ten callers at once, and then about one each second.
    ///
    /// - Throws: `limitReached`: the app has asked too often. `notFound`: the app isn't configured.
    public func isBlocked(_ caller: String) async throws(RingwakeKitError) -> Bool {
        let requests = requests
        let target = RequestTarget("apps", requests.app, "restrictions", "caller", query: [("caller", caller)])
        let message: CallerBlockMessage = try await requests.answer(to: RequestQueue.Request(.handler, "GET", target))
        return message.blocked
    }
}

package import RingwakeCore

/// What is restricted on the device, as an app may know it.
package struct RestrictionsMessage: Codable, Equatable, Sendable {
    package struct DoNotDisturb: Codable, Equatable, Sendable {
        /// Whether it keeps the app's calls from ringing now. Callers that it allows ring nevertheless.
        package var active: Bool
        /// When that ends by itself: ``UTCTime`` as text; nil if it doesn't, or if it isn't active.
        package var until: String?

        package init(active: Bool, until: String? = nil) {
            self.active = active
            self.until = until
        }
    }

    /// The highest content rating that an app may have.
    package struct Rating: Codable, Equatable, Sendable {
        /// `4+`, `9+`, `12+`, `17+`; `none`: no app of the scale is allowed.
        package var name: String
        /// Its number in Apple's configuration profiles (`ratingApps`): 100, 200, 300, 600; 0 for `none`.
        package var number: Int

        package init(name: String, number: Int) {
            self.name = name
            self.number = number
        }
    }

    package var schema = ControlAPI.schema
    package var doNotDisturb: DoNotDisturb
    /// Nil: apps are not restricted by their ratings.
    package var rating: Rating?
    /// Whether apps may show explicit content.
    package var explicitContentAllowed: Bool
    /// Whether apps may offer calls with video.
    package var videoCallsAllowed: Bool

    package init(
        doNotDisturb: DoNotDisturb = DoNotDisturb(active: false), rating: Rating? = nil,
        explicitContentAllowed: Bool = true, videoCallsAllowed: Bool = true
    ) {
        self.doNotDisturb = doNotDisturb
        self.rating = rating
        self.explicitContentAllowed = explicitContentAllowed
        self.videoCallsAllowed = videoCallsAllowed
    }
}

extension RestrictionsMessage {
    package init(_ restrictions: AppRestrictions) {
        self.init(
            doNotDisturb: DoNotDisturb(
                active: restrictions.isDoNotDisturbActive,
                until: restrictions.untilMilliseconds.map { UTCTime(milliseconds: $0).description }),
            rating: restrictions.allowedLevel.map { Rating(allowedBy: $0) },
            explicitContentAllowed: restrictions.content.allowsExplicitContent,
            videoCallsAllowed: restrictions.content.allowsVideoCalls)
    }
}

extension RestrictionsMessage.Rating {
    fileprivate init(allowedBy level: Int) {
        let rating = ContentRating(allowedBy: level)
        self.init(name: rating?.rawValue ?? "none", number: rating?.number ?? 0)
    }
}

/// The answer to an app that asks whether a caller is blocked. It doesn't say by which list.
package struct CallerBlockMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var blocked: Bool

    package init(blocked: Bool) {
        self.blocked = blocked
    }
}

/// What is restricted on the device, as far as an app may know it.
package struct AppRestrictions: Hashable, Sendable {
    /// Whether do not disturb keeps the app's calls from ringing now. Callers that it allows ring nevertheless.
    package var isDoNotDisturbActive = false
    /// When that ends by itself: milliseconds since 1970; nil if it doesn't, or if it isn't active.
    package var untilMilliseconds: Int64?
    /// The highest level that an app may have; nil: any.
    package var allowedLevel: Int?
    package var content = ContentRestrictions()

    package init() {}
}

/// Restrictions that only apps can apply: the daemon doesn't see what a call shows.
package struct ContentRestrictions: Hashable, Sendable {
    /// Whether apps may show explicit content.
    package var allowsExplicitContent: Bool
    /// Whether apps may offer calls with video.
    package var allowsVideoCalls: Bool

    package init(allowsExplicitContent: Bool = true, allowsVideoCalls: Bool = true) {
        self.allowsExplicitContent = allowsExplicitContent
        self.allowsVideoCalls = allowsVideoCalls
    }
}

/// The device's restrictions at one moment, from which those of each app follow.
package struct DeviceRestrictions: Hashable, Sendable {
    private let common: AppRestrictions
    private let exempt: Set<AppID>
    /// When do not disturb begins or ends next by itself: milliseconds since 1970; nil if it doesn't.
    package let nextChangeMilliseconds: Int64?

    /// - Parameter moment: the current time; called only if do not disturb depends on it.
    package init(_ rules: ScreeningRules, _ content: ContentRestrictions, at moment: () -> LocalMoment) {
        var all = AppRestrictions()
        all.allowedLevel = rules.allowedLevel
        all.content = content
        let rule = rules.doNotDisturb
        exempt = Set(rule.allowedApps)
        if rule.mayBeActive {
            let moment = moment()
            nextChangeMilliseconds = rule.nextChange(after: moment)?.wallMilliseconds
            all.isDoNotDisturbActive = rule.isActive(at: moment)
            all.untilMilliseconds = all.isDoNotDisturbActive ? nextChangeMilliseconds : nil
        } else {
            nextChangeMilliseconds = nil
        }
        common = all
    }

    /// Those of an app, which do not disturb may let through; nil: those of an app without an exception.
    package func restrictions(of app: AppID?) -> AppRestrictions {
        var own = common
        guard let app, exempt.contains(app) else { return own }
        own.isDoNotDisturbActive = false
        own.untilMilliseconds = nil
        return own
    }
}

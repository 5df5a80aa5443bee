/// Apple's scale of content ratings, as far as a device can allow them.
package enum ContentRating: String, Sendable, CaseIterable {
    case four = "4+"
    case nine = "9+"
    case twelve = "12+"
    case seventeen = "17+"

    /// The age in its name: the scale of an app's level.
    package var level: Int {
        switch self {
        case .four: 4
        case .nine: 9
        case .twelve: 12
        case .seventeen: 17
        }
    }

    /// Its number in Apple's configuration profiles, under `ratingApps`.
    package var number: Int {
        switch self {
        case .four: 100
        case .nine: 200
        case .twelve: 300
        case .seventeen: 600
        }
    }

    /// The highest rating that a device with this allowed level allows; nil below the scale: it allows none.
    package init?(allowedBy level: Int) {
        guard let rating = Self.allCases.last(where: { $0.level <= level }) else { return nil }
        self = rating
    }
}

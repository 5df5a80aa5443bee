import RingwakeCore

/// The `apns-push-type` of a push, as listed in "Sending notification requests to APNs".
package enum PushType: String, Sendable, Codable, CaseIterable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileprovider
    case mdm
    case liveactivity
    case pushtotalk
    case widgets
    case controls

    /// Suffix of the topic for this type; nil if the topic is the bundle ID itself (or, for `mdm`, the UID of the
    /// certificate).
    package var topicSuffix: String? {
        switch self {
        case .alert, .background, .mdm: nil
        case .location: ".location-query"
        case .voip: Topic.voipSuffix
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }
}

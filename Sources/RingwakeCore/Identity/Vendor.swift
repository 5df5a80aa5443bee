/// Who makes an app: UIKit's *vendor* of `identifierForVendor`.
package enum Vendor: Hashable, Sendable, CustomStringConvertible {
    /// The team that sells the app, by its id.
    case team(String)
    /// Nobody in particular: all apps without a team whose bundle ids begin with these parts.
    case prefix(String)

    /// The vendor of an app without a team: the first two parts of its bundle id.
    package init(prefixOf app: AppID) {
        self = .prefix(app.rawValue.split(separator: ".").prefix(2).joined(separator: "."))
    }

    /// For people: `TEAM123456`, `com.example.*`.
    package var description: String {
        switch self {
        case .team(let id): id
        case .prefix(let parts): parts + ".*"
        }
    }
}

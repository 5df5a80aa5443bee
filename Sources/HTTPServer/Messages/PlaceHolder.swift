/// Who holds a connection of a Unix socket. Each holder has limits of its own.
package nonisolated enum PlaceHolder: Hashable, Sendable {
    /// Root, or this process's own user.
    case owner
    /// Another user.
    case user(UInt32)
    /// The handlers of an app.
    case app(String)

    /// - Parameter credentials: nil if the kernel doesn't say who it is.
    init(_ credentials: PeerCredentials?) {
        self = credentials?.isOwner == true ? .owner : .user(credentials?.userID ?? .max)
    }
}

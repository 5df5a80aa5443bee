/// Who holds a connection of a Unix socket. Each holder has limits of its own.
package nonisolated enum PlaceHolder: Hashable, Sendable {
    /// Root, or this process's own user.
    case owner
    /// Another user.
    case user(UInt32)
    /// The handlers of an app.
    case app(String)

    /// Whether it is one of the users who share a limit: one user may have a range of 65,536 ids.
    var isUser: Bool {
        if case .user = self { true } else { false }
    }

    /// - Parameter credentials: nil if the kernel doesn't say who it is.
    init(_ credentials: PeerCredentials?) {
        self = credentials?.isOwner == true ? .owner : .user(credentials?.userID ?? .max)
    }
}
